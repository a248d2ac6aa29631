"use strict";(()=>{var Yo=["KiB","MiB","GiB","TiB","PiB","EiB"];function j(n){if(n<0)return"-"+j(-n);let e=-1,t=n;for(;t>=1024&&e<
Yo.length-1;)t/=1024,e+=1;if(e<0)return`${Math.round(n)} B`;let s=Math.round(t*100)<1e3?2:Math.round(t*10)<1e3?
1:0;return`${t.toFixed(s)} ${Yo[e]}`}function Re(n){return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g,",")}
function ge(n,e){return`${Re(n)} ${e}${n===1?"":"s"}`}function Ce(n){return ge(n,"byte")}function Ze(n){return`${Math.
floor(n/1e9)}.${String(Math.floor(n%1e9/1e3)).padStart(6,"0")} s`}function Gt(n){return n<1e3?`${Math.round(n)}\
 ns`:n<1e6?`${(n/1e3).toPrecision(3)} \xB5s`:n<1e9?`${(n/1e6).toPrecision(3)} ms`:`${(n/1e9).toPrecision(4)} s`}
function en(n,e){return e>0?`${(Math.floor(n*1e3/e)/10).toFixed(1)} %`:"\u2013"}function At(n){return"0x"+n.toString(
16)}function Ls(n){return n.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g," ")}function m(n,e={},...t){let s=document.createElement(n);for(let[l,i]of Object.entries(e))i===void 0||i===!1||(typeof i==
"function"?s.addEventListener(l.slice(2),i):s.setAttribute(l,i===!0?"":String(i)));return Qe(s,...t),s}function Qe(n,...e){
for(let t of e)t==null||t===!1||n.append(typeof t=="string"?Ls(t):t)}function re(n,...e){n.replaceChildren(),Qe(
n,...e)}function pt(n,e,t,s){let l=m("select",{"aria-label":n,onchange:()=>s(l.value)});for(let[i,o]of e)Qe(l,
m("option",{value:i,selected:i===t},o));return l.value=t,m("label",{class:"choice"},m("span",{},n),l)}function Vn(n,e,t){
let s=window.devicePixelRatio||1,l=m("canvas",{role:"img","aria-label":t,tabindex:0});l.width=Math.max(1,Math.
round(n*s)),l.height=Math.max(1,Math.round(e*s)),l.style.width=`${n}px`,l.style.height=`${e}px`;let i=l.getContext(
"2d");return i.scale(s,s),[l,i]}function me(n){return getComputedStyle(document.documentElement).getPropertyValue(
n).trim()}var Al=class{box=m("div",{class:"tip",role:"tooltip",hidden:!0});show(e,...t){this.box.isConnected||
document.body.append(this.box),re(this.box,...t.map(a=>m("div",{},a))),this.box.hidden=!1;let{offsetWidth:s,offsetHeight:l}=this.
box,i=e.clientX+14+s>innerWidth?e.clientX-s-8:e.clientX+14,o=e.clientY+14+l>innerHeight?e.clientY-l-8:e.clientY+
14;this.box.style.left=`${Math.max(4,i)}px`,this.box.style.top=`${Math.max(4,o)}px`}hide(){this.box.hidden=!0}},
tt=new Al;async function jo(n){let e=document.getElementById(`data-${n}`);if(!e)throw new Error(`the file has no ${n}: i\
t is cut off`);let t=e.textContent??"";e.remove();let s=atob(t),l=new Uint8Array(s.length);for(let o=0;o<s.length;o++)
l[o]=s.charCodeAt(o);let i=new Blob([l]).stream().pipeThrough(new DecompressionStream("deflate"));return new Uint8Array(
await new Response(i).arrayBuffer())}async function Ko(n){return JSON.parse(new TextDecoder().decode(await jo(
n)))}function ba(n,e){let{count:t,width:s,shift:l,is_difference:i}=n,o=s*8+l,u=o>32||i?new Float64Array(t):o>16?
new Uint32Array(t):o>8?new Uint16Array(t):new Uint8Array(t);for(let f=0;f<s;f++){let p=2**(8*f+l),h=f*t;for(let b=0;b<
t;b++)u[b]+=e[h+b]*p}if(i)for(let f=1;f<t;f++)u[f]+=u[f-1];return u}var $s=class n{constructor(e,t){this.tables=
e;this.columns=t;let s=this.column("back");this.steps=s.length,this.allocations=this.column("size").length,this.
of=new Uint32Array(this.steps),this.begin=new Uint32Array(this.allocations),this.end=new Uint32Array(this.allocations).
fill(4294967295),this.freed=new Uint32Array(this.allocations).fill(4294967295);let l=0,i=0;for(let o=0;o<this.
steps;o++)if(s[o]===0)this.of[o]=l,this.begin[l++]=o;else if(s[o]>l)this.of[o]=4294967295,i++;else{let a=l-s[o];
this.of[o]=a,this.end[a]=o,this.freed[a]=i++}for(let[o,a]of e.replaced)this.end[o]=a;t.delete("back")}tables;columns;steps;allocations;of;begin;end;freed;static async read(){
let[e,t]=await Promise.all([Ko("tables"),Ko("columns")]),s=t.map(async l=>[l.name,ba(l,await jo(l.name))]);return new n(
e,new Map(await Promise.all(s)))}column(e){return this.columns.get(e)}timeAt(e){let t=this.column("time");return this.
steps===0?0:t[Math.max(0,Math.min(e,this.steps)-1)]}momentOf(e){let t=this.column("time"),[s,l]=[0,this.steps];
for(;s<l;){let i=s+l>>>1;t[i]<=e?s=i+1:l=i}return s}functions(e){let t=this.tables.frames[e],s=[];for(let l=0;l<
t.length;l+=6){let i=o=>this.tables.texts[t[l+o]];s.push({name:i(0),file:i(1),line:t[l+2],module:i(3),kind:t[l+
4],link:i(5)})}return s}stack(e){let t=[],[s,l]=[this.column("stack_caller"),this.column("stack_frame")];for(let i=e;i!==
0;i=s[i-1])t.push(...this.functions(l[i-1]));return t}};var qo=new Map,Tl="file";function El(n){return qo=new Map(n.tables.editors),n.tables.editors.map(([e])=>[e,e===
"file"?"the browser":e.includes("{path}")?"as TPU_EMU_EDITOR says":e])}function _l(n){Tl=n}function Jo(){return Tl}
function Zo(n,e){let t=qo.get(Tl)??"file://{path}";if(!n.startsWith("/")||!/^[a-z][a-z0-9+.-]*:/i.test(t)||/^(javascript|data|vbscript):/i.
test(t))return null;let s=n.split("/").map(encodeURIComponent).join("/");return t.replaceAll("{path}",s).replaceAll(
"{line}",String(Math.max(1,e)))}function cs(n){return n.file===""?n.module.split("/").pop()??"":n.line>0?`${n.
file}:${n.line}`:n.file}function Qo(n,e){let t=n.link||Zo(n.file,n.line);return t===null?m("span",{class:"wher\
e"},e):m("a",{class:"where",href:t,target:n.link?"_blank":void 0,rel:"noreferrer"},e)}function Xe(n){let e=/^(\/.*?):(\d+)( .*)?$/s.
exec(n),t=e?{file:e[1],line:Number(e[2]),rest:e[3]??""}:null,s=t&&Zo(t.file,t.line);if(!t||s===null)return[n];
let l=t.file.split("/").pop();return[m("a",{href:s,title:`${t.file}:${t.line}`,onclick:i=>i.stopPropagation()},
`${l}:${t.line}`),m("span",{class:"function"},t.rest)]}var Ll=[["line","Line"],["function","Function"],["executable","Program"],["label","What for"],["array","Array \
type"],["entry","API function"],["space","Memory"]];function Ke(n,e){let t=n.tables.keys[e]??[];if(e==="space"){
let o=n.column("space");return{words:t,of:a=>o[a]}}let s={label:"site_label",array:"site_spec",entry:"site_ent\
ry"},[l,i]=[n.column("site"),n.column(s[e]??`site_${e}`)];return{words:t,of:o=>i[l[o]]}}function Vt(n,e,t){let{
words:s,of:l}=Ke(n,t),i=s.length,[o,a,u]=[new Float64Array(i),new Float64Array(i),new Uint32Array(i)],f=new Uint32Array(
i),[p,h,b]=[n.column("size"),n.column("site"),n.column("site_spec")],S=Float64Array.from(n.tables.specs,w=>w.logical);
for(let w of e){let _=l(w);u[_]++===0&&(f[_]=w),o[_]+=p[w],a[_]+=S[b[h[w]]]}let M=[];for(let w=0;w<i;w++)u[w]!==
0&&M.push({key:w,words:s[w],bytes:o[w],logical:a[w],blocks:u[w],first:f[w]});return M.sort((w,_)=>_.bytes-w.bytes||
(w.words<_.words?-1:1))}function Xo(n,e){let t=n.column("site"),s=n.column("size"),l=new Map;for(let i of e){let o=t[i],
a=l.get(o);a||l.set(o,a={key:o,words:"",bytes:0,logical:0,blocks:0,first:i}),a.bytes+=s[i],a.blocks++}return[...l.
values()].sort((i,o)=>o.bytes-i.bytes)}function Ps(n,e){let[t,s,l]=[n.column("size"),n.column("site"),n.column(
"site_spec")],i={bytes:0,logical:0};for(let o of e)i.bytes+=t[o],i.logical+=n.tables.specs[l[s[o]]].logical;return i}
function Cs(n,e,t){let{model:s}=n,[l,i]=[s.column("address"),s.column("size")],o=$l(us(e,p=>l[p]),e),a=[],[u,f]=[
0,-1];for(let p of o){let h=l[p];h>u&&a.push({address:u,size:h-u,before:f,behind:p}),h+i[p]>=u&&([u,f]=[h+i[p],
p])}return t>u&&a.push({address:u,size:t-u,before:f,behind:-1}),{blocks:o,holes:a}}function us(n,e){let t=new Float64Array(
n.length);for(let s=0;s<n.length;s++)t[s]=e(n[s]);return t}function $l(n,e){let t=e.length;if(t<2e3)return Uint32Array.
from(Array.from(e.keys()).sort((a,u)=>n[a]-n[u]||a-u),a=>e[a]);let s=new Uint16Array(n.buffer,n.byteOffset,t*4),
[l,i]=[new Uint32Array(t),new Uint32Array(t)];for(let a=0;a<t;a++)l[a]=a;let o=new Uint32Array(65537);for(let a=0;a<
4;a++){o.fill(0);for(let u=0;u<t;u++)o[s[u*4+a]+1]++;if(o[s[a]+1]!==t){for(let u=0;u<65536;u++)o[u+1]+=o[u];for(let u=0;u<
t;u++)i[o[s[l[u]*4+a]]++]=l[u];[l,i]=[i,l]}}for(let a=0;a<t;a++)i[a]=e[l[a]];return i}var Ds=class{constructor(e){this.model=e;this.element.addEventListener("keydown",t=>{t.key==="Escape"&&(t.stopPropagation(),
this.close())})}model;element=m("aside",{class:"drawer","aria-label":"Details",hidden:!0,tabindex:-1});opener=null;face="\
python";close(){this.element.hidden||(this.element.hidden=!0,document.body.classList.remove("with-drawer"),this.
opener?.isConnected&&this.opener.focus())}open(e,...t){this.element.hidden&&(this.opener=document.activeElement);
let s=m("button",{class:"close","aria-label":"Close",onclick:()=>this.close()},"\u2715");re(this.element,m("di\
v",{class:"drawer-head"},m("h2",{},...e),s),...t),this.element.hidden=!1,document.body.classList.add("with-dra\
wer"),this.element.focus({preventScroll:!0}),this.element.scrollTop=0}blocks(e,t){let{model:s}=this,l=Xo(s,t),
i=l.reduce((S,M)=>S+M.bytes,0),o=l.reduce((S,M)=>S+M.blocks,0),[a,u,f,p]=["site_stack","site_label","site_spec",
"site_entry"].map(S=>s.column(S)),h=s.tables.keys,b=l.slice(0,30).map((S,M)=>{let w=S.key,_=m("details",{open:M===
0});Qe(_,m("summary",{},m("b",{title:Ce(S.bytes)},j(S.bytes)),` in ${ge(S.blocks,"block")}: ${h.label[u[w]]}`),
m("p",{class:"soft"},`${s.tables.specs[f[w]].text}, by ${h.entry[p[w]]}`));let E=()=>{_.open&&!_.querySelector(
".stack")&&_.append(this.stack(a[w]))};return _.addEventListener("toggle",E),E(),_});this.open(e,m("p",{},`${j(
i)} in ${ge(o,"block")}, taken at ${ge(l.length,"place")}.`),...b,l.length>30?m("p",{class:"soft"},`${ge(l.length-
30,"other place")} with less.`):null)}block(e){let{model:t}=this,s=S=>t.column(S)[e],l=s("site"),i=t.tables.specs[t.
column("site_spec")[l]],[o,a]=[t.begin[e],t.end[e]],u=t.column("time"),f=Ke(t,"line"),p=(S,...M)=>m("tr",{},m(
"th",{},S),m("td",{},...M)),h=t.freed[e],b=h===4294967295?-1:t.column("free_site")[h];this.open([`${j(s("size"))}\
 at ${At(s("address"))}`],m("table",{class:"facts"},p("Taken by",...Xe(f.words[f.of(e)])),p("What for",t.tables.
keys.label[t.column("site_label")[l]]),p("Array",i.text),p("Size",`${Ce(s("size"))}, ${j(Math.max(0,s("size")-
i.logical))} of it padding`),p("Memory",t.tables.spaces[s("space")].name),p("Taken",`${Ze(u[o])}, by thread ${t.
tables.threads[s("thread")]} in ${t.tables.keys.entry[t.column("site_entry")[l]]}`),p("Given back",a===4294967295?
"never":b<0?`${Ze(u[a])}: another block took its address, its free is missing`:`${Ze(u[a])}, after ${Gt(u[a]-u[o])}\
, by thread ${t.tables.threads[t.column("free_thread")[h]]}`)),m("h3",{},"Taken by"),this.stack(t.column("site\
_stack")[l]),b<0?null:m("h3",{},"Given back by"),b<0?null:this.stack(t.column("free_stack")[b]))}calls(e,t,s){
this.open([e],m("p",{},t),this.list(s))}one(e,t,s){this.open([e],m("p",{},t),this.stack(s))}stack(e){let t=this.
model.stack(e),s=m("div",{class:"stack"}),l=()=>{let i={python:2,mixed:4,native:0}[this.face],o=i===0?t:t.filter(
u=>u.kind&i);o.length===0&&(o=this.face==="python"?t.filter(u=>u.kind&1):t),o.length===0&&(o=t);let a=["python",
"mixed","native"].map(u=>{let f={python:"Python",mixed:"Mixed",native:"All frames"}[u];return m("button",{"ari\
a-pressed":String(u===this.face),onclick:()=>(this.face=u,l())},f)});re(s,m("p",{class:"bar"},...a,m("span",{class:"\
soft"},`${o.length} of ${ge(t.length,"frame")}, innermost first`)),this.list(o))};return l(),s}list(e){if(e.length===
0)return m("p",{class:"soft"},"No stack was recorded.");let t=e.map(s=>m("li",{class:s.kind&1?"python":"native"},
m("span",{class:"function"},s.name||"?")," ",Qo(s,cs(s))));return m("ol",{class:"frames"},...t)}};var Cl=class{frames=[null];parents=[0];node;constructor(e,t){let[s,l]=[e.column("stack_caller"),e.column("stac\
k_frame")];this.node=new Uint32Array(s.length+1);let i=new Map,o=new Map,a=e.tables.frames.map((u,f)=>e.functions(
f).reverse().filter(p=>t(p.kind)).map(p=>{let h=`${p.name}\0${p.file}\0${p.line}`,b=o.get(h)??o.size;return o.
set(h,b),{frame:p,number:b}}));for(let u=1;u<=s.length;u++){let f=this.node[s[u-1]];for(let{frame:p,number:h}of a[l[u-
1]]){let b=f*o.size+h,S=i.get(b);S===void 0&&(S=this.frames.length,i.set(b,S),this.frames.push(p),this.parents.
push(f)),f=S}this.node[u]=f}}},ei=new Map;function Dl(n,e){let t={python:2,mixed:4,every_python:1},s=ei.get(e);
return s||ei.set(e,s=new Cl(n,l=>e==="native"||(l&t[e])!==0)),s}function ni(n){Dl(n,"python")}function ya(n,e,t){
let s=n.column("site"),l=n.column("size"),i=n.column("site_stack"),[o,a]=[n.column("site_label"),n.column("sit\
e_spec")],u=new Float64Array(i.length),f=new Uint32Array(i.length);for(let A of e)u[s[A]]+=l[A],f[s[A]]++;let p=[
{name:"all",frame:null,parent:0,bytes:0,blocks:0,depth:0,left:0,children:[]}],h=(A,T,$)=>(p.push({name:T,frame:$,
parent:A,bytes:0,blocks:0,depth:p[A].depth+1,left:0,children:[]}),p[A].children.push(p.length-1),p.length-1),b=new Map,
S=(A,T)=>{let $=b.get(A);$||b.set(A,$=new Int32Array(A.frames.length));let k=[];for(;T!==0&&$[T]===0;T=A.parents[T])
k.push(T);for(let R of k.reverse()){let z=A.frames[R];$[R]=h($[T],z.name,z),T=R}return $[T]},M=Dl(n,t),w=new Map,
{labels:_,specs:E}=n.tables;for(let A=0;A<i.length;A++){if(f[A]===0)continue;let $=M.node[i[A]]===0&&t!=="nati\
ve"?Dl(n,"every_python"):M,k=S($,$.node[i[A]]),R=_[o[A]]===""?_.length+a[A]:o[A],z=k*(_.length+E.length)+R,F=w.
get(z);F===void 0&&(F=h(k,_[o[A]]||E[a[A]].text,null),w.set(z,F)),p[F].bytes+=u[A],p[F].blocks+=f[A]}for(let A=p.
length-1;A>0;A--)p[p[A].parent].bytes+=p[A].bytes,p[p[A].parent].blocks+=p[A].blocks;let v=A=>{let T=p[A].left;
p[A].children.sort(($,k)=>p[k].bytes-p[$].bytes);for(let $ of p[A].children)p[$].left=T,T+=p[$].bytes};for(let A=0;A<
p.length;A++)v(A);return p}var pn=21;function Pl(n){return n.frame===null?"what for":n.frame.kind&1?n.frame.file.
includes("-packages/")?"library":"python":n.frame.kind&8?"emulator":"native"}var ti={"what for":"--flame-what",
python:"--flame-python",library:"--flame-library",native:"--flame-native",emulator:"--flame-emulator"},Ns=class{constructor(e,t){
this.model=e;this.chosen=t}model;chosen;element=m("div",{class:"flame"});all=[];root=0;focus=0;found="";show(e,t,s,l){
this.all=ya(this.model,e,t),this.root=0,this.focus=0,this.found=l.toLowerCase(),this.draw(s)}draw(e){let{all:t}=this;
if(t[0].bytes===0){re(this.element,m("p",{class:"empty"},"Nothing lived here then."));return}let l=t[this.root],
i=Math.max(200,this.element.clientWidth),o=[],a=[];for(let $=this.root;$!==0;$=t[$].parent)a.push(t[$].parent);
for(let $ of a)o.push({at:$,x:0,width:i,row:t[$].depth});let u=[this.root],f=l.depth;for(;u.length;){let $=u.pop(),
k=t[$],R=k.bytes/l.bytes*i;R<.4||(o.push({at:$,x:(k.left-l.left)/l.bytes*i,width:R,row:k.depth}),f=Math.max(f,
k.depth),u.push(...k.children))}let p=(f+1)*pn+1,[h,b]=Vn(i,p,this.words(this.focus)),S=$=>e?p-($+1)*pn:$*pn,M=me(
"--flame-ink"),w=Object.fromEntries(Object.entries(ti).map(([$,k])=>[$,me(k)])),_=me("--found");b.font="12px s\
ystem-ui, sans-serif",b.textBaseline="middle";let E=0;for(let{at:$,x:k,width:R,row:z}of o){let F=t[$],W=Ls($===
0?`all: ${j(F.bytes)}`:F.frame&&F.frame.line?`${F.name}  ${cs(F.frame).split("/").pop()}`:F.name),P=this.found!==
""&&this.label(F).toLowerCase().includes(this.found);P&&E++,b.globalAlpha=z<l.depth?.5:1,b.fillStyle=P?_:$===0?
me("--raised"):w[Pl(F)],b.fillRect(k,S(z),Math.max(.5,R-1),pn-1),$===this.focus&&this.focus!==0&&(b.strokeStyle=
me("--ink"),b.lineWidth=2,b.strokeRect(k+1,S(z)+1,Math.max(1,R-3),pn-3)),R>24&&(b.fillStyle=$===0?me("--ink"):
M,b.fillText(Nl(b,W,R-8),k+4,S(z)+pn/2))}b.globalAlpha=1;let v=$=>{let k=h.getBoundingClientRect(),[R,z]=[$.clientX-
k.left,$.clientY-k.top];return o.find(({x:F,width:W,row:P})=>z>=S(P)&&z<S(P)+pn&&R>=F&&R<F+Math.max(1,W))?.at};
h.addEventListener("mousemove",$=>{let k=v($);k===void 0?tt.hide():tt.show($,...this.lines(k))}),h.addEventListener(
"mouseleave",()=>tt.hide()),h.addEventListener("click",$=>{let k=v($);k!==void 0&&this.pick(k,e)}),h.addEventListener(
"keydown",$=>this.key($,e));let A=this.element.contains(document.activeElement),T=this.found===""?null:m("p",{
class:"note"},`${ge(E,"bar")} found`);re(this.element,T,h,this.legend()),A&&h.focus({preventScroll:!0})}legend(){
let e=[["python","your Python"],["library","Python of packages"],["native","native code"],["emulator","the emu\
lator"],["what for","what for"]],t=new Set(this.all.slice(1).map(Pl)),s=e.filter(([l])=>t.has(l));return m("p",
{class:"legend"},...s.map(([l,i])=>m("span",{},m("i",{style:`background: var(${ti[l]})`}),i)))}pick(e,t){tt.hide(),
this.root=e,this.focus=e,this.draw(t);let s=this.all[e],l=[];for(let i=e;i!==0;i=this.all[i].parent)this.all[i].
frame&&l.push(this.all[i].frame);e!==0&&this.chosen({frame:s.frame,name:s.name,bytes:s.bytes,blocks:s.blocks,path:l})}key(e,t){
let s=this.all[this.focus],l=this.all[s.parent].children,i=l.indexOf(this.focus),o=t?"ArrowUp":"ArrowDown",a=t?
"ArrowDown":"ArrowUp";if(e.key===o&&s.children.length)this.focus=s.children[0];else if(e.key===a)this.focus=s.
parent;else if(e.key==="ArrowLeft"&&i>0)this.focus=l[i-1];else if(e.key==="ArrowRight"&&this.focus!==0&&i+1<l.
length)this.focus=l[i+1];else return e.key==="Enter"?this.pick(this.focus,t):e.key==="Escape"?this.pick(0,t):void 0;
e.preventDefault(),this.draw(t)}label(e){return e.frame?`${e.name} ${cs(e.frame)}`:e.name}lines(e){let t=this.
all[e],s=[this.label(t),`${j(t.bytes)} in ${ge(t.blocks,"block")}, ${en(t.bytes,this.all[0].bytes)} of all`];return t.
frame?[...s,`${Pl(t)}: ${t.frame.module}`]:s}words(e){return`Calls by bytes. ${this.lines(e).join(". ")}. Arro\
w keys go through the bars, Enter zooms, Escape shows all.`}};function Nl(n,e,t){let s=e.slice(0,Math.ceil(t/3));
if(s===e&&n.measureText(s).width<=t)return s;let[l,i]=[0,s.length];for(;l<i;){let o=l+i+1>>1;n.measureText(s.slice(
0,o)+"\u2026").width<=t?l=o:i=o-1}return s=s.slice(0,l),l>0?s+"\u2026":""}var Bn=26,si=8e6,zs=class{constructor(e,t,s,l){this.columns=e;this.by=t;this.down=s;this.chosen=l;this.tall.append(
this.window),this.body.append(this.head,this.tall),this.element.append(this.body),this.element.style.setProperty(
"--columns",e.map(i=>i.width).join(" ")),this.body.addEventListener("scroll",()=>this.draw()),new ResizeObserver(
()=>this.draw()).observe(this.body)}columns;by;down;chosen;element=m("div",{class:"grid",role:"table"});head=m(
"div",{class:"grid-head",role:"row"});body=m("div",{class:"grid-body",tabindex:0,role:"rowgroup"});tall=m("div",
{class:"grid-tall"});window=m("div",{class:"grid-window"});list=new Uint32Array;sorted=new Uint32Array;show(e){
this.list=e,this.sort(),this.body.scrollTop=0,this.draw()}sort(){let{sort:e}=this.columns[this.by];this.sorted=
e?$l(us(this.list,e),this.list):this.list.slice(),this.down&&this.sorted.reverse(),re(this.head,...this.columns.
map((t,s)=>{let l=s===this.by,i=l?this.down?" \u25BC":" \u25B2":"",o=m("div",{role:"columnheader",class:t.isNumber?
"number":void 0,"aria-sort":l?this.down?"descending":"ascending":void 0});if(!t.sort)o.append(t.title);else{let a=()=>{
this.down=l?!this.down:t.isNumber===!0,this.by=s,this.sort(),this.draw(),this.head.children[s].firstChild.focus()};
o.append(m("button",{class:"plain",onclick:a},t.title+i))}return o}))}draw(){let e=this.sorted.length,t=Math.min(
si,e*Bn);this.tall.style.height=`${t}px`;let s=(this.body.clientHeight||400)-Bn,l=Math.ceil(s/Bn)+1,i=Math.max(
1,t-s),o=Math.min(1,this.body.scrollTop/i),a=e*Bn<=si,u=a?Math.floor(this.body.scrollTop/Bn):Math.round(o*Math.
max(0,e-l+1));this.window.style.transform=`translateY(${a?u*Bn:this.body.scrollTop}px)`;let f=[];for(let p=u;p<
Math.min(e,u+l);p++){let h=this.sorted[p],b=this.columns.map(w=>m("div",{role:"cell",class:w.isNumber?"number":
void 0},...w.cell(h))),S=()=>this.chosen(h),M=w=>{w.key==="Enter"&&w.target===w.currentTarget&&this.chosen(h)};
f.push(m("div",{class:"grid-row",role:"row",tabindex:0,onclick:S,onkeydown:M},...b))}this.window.replaceChildren(
...f)}};var De=-1,Rs=class{constructor(e){this.model=e;let t=e.tables.spaces;this.used=t.map((o,a)=>a).filter(o=>t[o].
changes>0);let s=new Set(e.tables.refusals.map(o=>o.space));for(let o of s)this.used.includes(o)||this.used.push(
o);this.used.sort((o,a)=>o-a);let l=this.used.filter(o=>t[o].device!==null),i=[...l,...this.used].reduce((o,a)=>o<
0||t[a].peak>t[o].peak?a:o,l[0]??-2);this.space=l.length>1?De:l[0]??(i>=0?i:t.length>0?0:De),this.at=this.byName(
"peak")?.of(this.space)??0,e.tables.start&&(this.named=null,this.at=this.of(e.tables.start,this.space))}model;space;at=0;named="\
peak";view="who";used;listeners=[];usage=new Map;lived=null;listen(e){this.listeners.push(e)}tell(e){for(let t of this.
listeners)t(e)}setMoment(e,t=null){this.at=Math.max(0,Math.min(this.model.steps,e)),this.named=t,this.tell("mo\
ment")}setNamed(e){let t=this.byName(e);t&&this.setMoment(t.of(this.space),e)}setSpace(e){this.space=e;let t=this.
named===null?void 0:this.byName(this.named);t&&(this.at=t.of(e)),this.tell("moment")}setView(e){this.view=e,this.
tell("view")}chosen(e=this.space){let t=this.model.tables.spaces,s=new Uint8Array(Math.max(1,t.length));return e===
De?t.forEach((l,i)=>s[i]=l.device===null?0:1):s[e]=1,s}name(e=this.space){return e===De?"all devices":this.model.
tables.spaces[e].name}capacity(e=this.space){let t=this.chosen(e);return this.model.tables.spaces.reduce((s,l,i)=>s+
(t[i]?l.capacity:0),0)}inUse(e=this.space){let t=this.usage.get(e);if(t)return t;let{model:s}=this,[l,i,o]=[s.
column("space"),s.column("size"),this.chosen(e)],a=new Float64Array(s.steps),u=0;for(let f=0;f<s.steps;f++){let p=s.
of[f];p!==4294967295&&o[l[p]]&&(u+=s.begin[p]===f?i[p]:-i[p]),a[f]=u}for(let[f,p]of s.tables.replaced)if(o[l[f]])
for(let h=p;h<s.steps;h++)a[h]-=i[f];return this.usage.size>=4&&this.usage.clear(),this.usage.set(e,a),a}inUseAt(e,t=this.
space){return e===0?0:this.inUse(t)[e-1]}of(e,t){return t!==De?e[t]??0:e.reduce((s,l,i)=>this.model.tables.spaces[i].
device===null?s:Math.max(s,l),0)}names(){let{model:e}=this,{spaces:t,marks:s,refusals:l}=e.tables,i=[{name:"pe\
ak",text:"Peak",of:o=>o===De?this.peakOfAll():t[o].peak_at},{name:"end",text:"End",of:o=>this.end(o)},{name:"l\
ast",text:"Last change",of:()=>e.steps}];return s.forEach((o,a)=>i.push({name:`mark-${a}`,text:`Mark: ${o.name}`,
of:u=>this.of(o.at,u)})),l.forEach((o,a)=>i.push({name:`refusal-${a}`,text:`Out of memory ${a+1} in ${t[o.space].
name}`,of:u=>this.of(o.at,u)})),i}byName(e){return this.names().find(t=>t.name===e)}end(e){let{spaces:t}=this.
model.tables;return e!==De?t[e].end_at:t.filter(l=>l.device!==null&&l.cleaned_at!==null).reduce((l,i)=>Math.min(
l,i.cleaned_at),this.model.steps)}peakOfAll(){let e=this.inUse(De),[t,s]=[0,0];for(let l=0;l<e.length;l++)e[l]>
t&&([t,s]=[e[l],l+1]);return s}live(e=this.at,t=this.space){let s=`${e} ${t}`;if(this.lived?.key===s)return this.
lived.list;let{model:l}=this,i=this.chosen(t),[o,a,u]=[l.column("space"),l.begin,l.end],f=0,p=new Uint32Array(
l.allocations);for(let h=0;h<l.allocations&&a[h]<e;h++)u[h]>=e&&i[o[h]]&&(p[f++]=h);return this.lived={key:s,list:p.
slice(0,f)},this.lived.list}made(e,t,s=this.space){let{model:l}=this,[i,o]=[l.column("space"),this.chosen(s)],
a=new Uint32Array(l.allocations),u=0;for(let f=0;f<l.allocations&&l.begin[f]<t;f++)l.begin[f]>=e&&o[i[f]]&&(a[u++]=
f);return a.slice(0,u)}neighbour(e,t){let{model:s}=this,[l,i]=[s.column("space"),this.chosen()],o=this.at;for(let a=t;a>
0;){let u=e?o+1:o-1;if(u<0||u>s.steps)break;o=u;let f=o===0?4294967295:s.of[o-1];(o===0||f!==4294967295&&i[l[f]])&&
a--}return o}};var tn=16,fs=3,Fs=8,Us=class{constructor(e,t){this.state=e;this.chosen=t}state;chosen;element=m("div",{class:"\
map"});whole=!1;window=null;shown="";show(){let{state:e}=this,{model:t}=e,s=`${e.space}`;if(s!==this.shown&&(this.
window=null),this.shown=s,e.space===De){re(this.element,m("p",{class:"empty"},"Addresses are those of one memo\
ry: choose a device above."));return}let l=e.live(),i=e.capacity(),{blocks:o,holes:a}=Cs(e,l,i),[u,f]=[t.column(
"address"),t.column("size")],p=a.length&&a[a.length-1].behind<0?a[a.length-1].address:i,[h,b]=this.window??[0,
this.whole?i:Math.max(512,Math.min(i,p*1.03))],S=Math.max(200,this.element.clientWidth),M=24,w=Math.max(512,Math.
ceil((b-h)/M/512)*512);b=h+w*M;let _=M*(tn+fs),E=`Addresses ${At(h)} to ${At(b)}: ${ge(o.length,"block")}, ${ge(
a.length,"hole")}`,[v,A]=Vn(S,_,E),T=Vt(t,l,"line"),{of:$,words:k}=Ke(t,"line"),R=Ke(t,"label"),z=new Map(T.slice(
0,Fs).map((D,Y)=>[D.key,Y])),F=Array.from({length:Fs},(D,Y)=>me(`--hue-${Y}`)),[W,P]=[me("--hue-other"),me("--\
hole")],Q=wa(A,P,me("--hole-line")),B=me("--paper");for(let D=0;D<M;D++){let Y=Math.min(i,h+(D+1)*w)-(h+D*w);if(Y<=
0)break;A.fillStyle=Q,A.fillRect(0,D*(tn+fs),Y/w*S,tn)}let q=(D,Y,Te,se)=>{let te=Math.max(D,h),Oe=Math.min(D+
Y,b);for(;te<Oe;){let _e=Math.floor((te-h)/w),ce=Math.min(Oe,h+(_e+1)*w),ct=(te-h-_e*w)/w*S,ut=(ce-te)/w*S;A.fillStyle=
Te,A.fillRect(ct,_e*(tn+fs),Math.max(.6,ut),tn),se&&ut>3&&(A.fillStyle=se,A.fillRect(ct+ut-.6,_e*(tn+fs),.6,tn)),
te=ce}};for(let D of o){let Y=z.get($(D));q(u[D],f[D],Y===void 0?W:F[Y],B)}let G=us(o,D=>u[D]),Z=D=>{let Y=v.getBoundingClientRect(),
Te=Math.floor((D.clientY-Y.top)/(tn+fs)),se=h+Te*w+(D.clientX-Y.left)/S*w;if(se<0||se>=i)return null;let[te,Oe]=[
0,G.length];for(;te<Oe;){let ce=te+Oe>>1;G[ce]<=se?te=ce+1:Oe=ce}let _e=te>0?o[te-1]:void 0;return _e!==void 0&&
se<u[_e]+f[_e]?{block:_e,address:se}:{hole:a.find(ce=>ce.address<=se&&se<ce.address+ce.size),address:se}};v.addEventListener(
"mousemove",D=>{let Y=Z(D);if(!Y)return tt.hide();if(Y.block!==void 0){let Te=`${j(f[Y.block])} at ${At(u[Y.block])}`;
tt.show(D,Te,k[$(Y.block)],R.words[R.of(Y.block)])}else Y.hole&&tt.show(D,`hole of ${j(Y.hole.size)} at ${At(Y.
hole.address)}`)}),v.addEventListener("mouseleave",()=>tt.hide()),v.addEventListener("click",D=>{let Y=Z(D);Y?.
block!==void 0&&this.chosen(Y.block)});let I=a.reduce((D,Y)=>D+Y.size,0),je=a.reduce((D,Y)=>Math.max(D,Y.size),
0),pe=(D,Y)=>m("button",{onclick:Y},D),le=(h+b)/2,oe=w*M/2,ee=(D,Y)=>{let Te=Math.min(Y-D,i),se=Math.max(0,Math.
min(D,i-Te));this.window=[Math.floor(se/512)*512,se+Te],this.show()};re(this.element,m("p",{class:"bar"},m("sp\
an",{},`${j(I)} free in ${ge(a.length,"hole")}, the largest `,m("b",{id:"largest-hole",title:Ce(je)},j(je))),pe(
"Zoom in",()=>ee(le-oe/2,le+oe/2)),pe("Zoom out",()=>ee(le-oe*2,le+oe*2)),pe("\u25C0",()=>ee(h-oe,b-oe)),pe("\u25B6",
()=>ee(h+oe,b+oe)),pe(this.whole?"Used part":"Whole memory",()=>{this.whole=!this.whole,this.window=null,this.
show()}),m("span",{class:"soft"},`${At(h)} to ${At(Math.min(b,i))}, a row is ${j(w)}`)),v,m("p",{class:"legend"},
...T.slice(0,Fs).map((D,Y)=>m("span",{},m("i",{style:`background: var(--hue-${Y})`}),...Xe(D.words),` ${j(D.bytes)}`)),
T.length>Fs&&m("span",{},m("i",{style:"background: var(--hue-other)"}),"others"),m("span",{},m("i",{class:"hat\
ched"}),"hole")),m("h3",{},"Largest holes, and what stands on both sides"),this.holes(a,ee))}holes(e,t){let{model:s}=this.
state,{words:l,of:i}=Ke(s,"line"),o=s.column("size"),a=(p,h)=>p<0?m("td",{class:"soft"},h):m("td",{},m("button",
{class:"plain",onclick:()=>this.chosen(p)},j(o[p]))," ",...Xe(l[i(p)])),f=[...e].sort((p,h)=>h.size-p.size).slice(
0,50).map(p=>m("tr",{},m("td",{class:"number",title:Ce(p.size)},m("button",{class:"plain",onclick:()=>t(p.address-
p.size/4,p.address+p.size*1.25)},j(p.size))),m("td",{class:"number"},At(p.address)),a(p.before,"begin of the m\
emory"),a(p.behind,"end of the memory")));return m("div",{class:"scroll"},m("table",{id:"holes"},m("thead",{},
m("tr",{},...["Hole","Address","Before it","Behind it"].map((p,h)=>m("th",{class:h<2?"number":void 0},p)))),m(
"tbody",{},...f)))}};function wa(n,e,t){let s=document.createElement("canvas");[s.width,s.height]=[6,6];let l=s.
getContext("2d");return l.fillStyle=e,l.fillRect(0,0,6,6),l.strokeStyle=t,l.beginPath(),l.moveTo(0,6),l.lineTo(
6,0),l.stroke(),n.createPattern(s,"repeat")??e}function In(n,e,t,s=200){let l=n.reduce((a,u)=>a+u.bytes,0),i=n.slice(0,s).map(a=>{let u=()=>t(a),f=h=>{h.key===
"Enter"&&h.target===h.currentTarget&&u()},p=Math.max(0,a.bytes-a.logical);return m("tr",{class:"opens",tabindex:0,
onclick:u,onkeydown:f,"data-bytes":a.bytes,"data-blocks":a.blocks,"data-key":a.words},m("td",{class:"share"},m(
"i",{style:`width: ${a.bytes/Math.max(1,e)*100}%`})),m("td",{class:"number",title:Ce(a.bytes)},j(a.bytes)),m("\
td",{class:"number"},en(a.bytes,l)),m("td",{class:"number"},Re(a.blocks)),m("td",{class:"number",title:Ce(p)},
p?j(p):"\u2013"),m("td",{class:"key",title:a.words},...Xe(a.words)))}),o=["","Bytes","Share","Blocks","Padding",
"Origin"].map((a,u)=>m("th",{class:u>0&&u<5?"number":void 0},a));return m("div",{class:"scroll"},m("table",{class:"\
sums"},m("thead",{},m("tr",{},...o)),m("tbody",{},...i)),n.length>s&&m("p",{class:"soft"},`${ge(n.length-s,"ot\
her row")} with less: search for them.`))}function va(n,e){let t=e.toLowerCase();return t===""?n:n.filter(s=>s.
words.toLowerCase().includes(t))}function zl(n,e){let t=m("input",{type:"search",placeholder:n,"aria-label":n,
oninput:()=>e(t.value)});return t}function li(n,e){let[t,s]=["line",""],l=m("h2",{}),i=m("div",{}),o=pt("By",Ll,
t,p=>(t=p,f())),a=zl("Search origins",p=>(s=p,f())),u=m("section",{},m("p",{class:"bar"},l,o,a),i),f=()=>{let p=n.
live(),h=Ps(n.model,p);re(l,"Who held ",m("b",{id:"held-bytes",title:Ce(h.bytes),"data-bytes":h.bytes},j(h.bytes)),
` in ${ge(p.length,"block")}`);let b=va(Vt(n.model,p,t),s),S=M=>{let{of:w}=Ke(n.model,t);e.blocks(Xe(M.words),
p.filter(_=>w(_)===M.key))};re(i,b.length?In(b,b[0].bytes,S):m("p",{class:"empty"},p.length?"No origin has the\
se words.":"Nothing lived here then."))};return{name:"who",title:"Who",element:u,show:f}}function oi(n,e){let[
t,s,l,i]=["python","live","icicle",""],o=new Ns(n.model,({frame:f,name:p,bytes:h,blocks:b,path:S})=>{let M=`${j(
h)} in ${ge(b,"block")}`;e.calls(f?p:`What for: ${p}`,M,S)}),a=m("section",{},m("p",{class:"bar"},pt("Frames",
[["python","Python"],["mixed","Python and native"],["native","All, the interpreter's too"]],t,f=>(t=f,u())),pt(
"Blocks",[["live","that live"],["allocated","allocated until then"]],s,f=>(s=f,u())),pt("Form",[["icicle","ici\
cle, callers above"],["flame","flames, callers below"]],l,f=>(l=f,u())),zl("Search calls",f=>(i=f,u()))),o.element),
u=()=>o.show(s==="live"?n.live():n.made(0,n.at),t,l==="flame",i);return{name:"flame",title:"Flame graph",element:a,
show:u}}function ii(n,e){let t=new Us(n,l=>e.block(l));return{name:"map",title:"Address map",element:m("sectio\
n",{},t.element),show:()=>t.show()}}function ri(n,e){let{model:t}=n,[s,l]=["live",""],i=Ke(t,"line"),o=Ke(t,"l\
abel"),[a,u,f,p,h]=["size","address","site","site_spec","space"].map(k=>t.column(k)),b=t.column("time"),S=k=>{
let R=new Float64Array(k.length);return Array.from(k.keys()).sort((z,F)=>k[z]<k[F]?-1:k[z]>k[F]?1:0).forEach((z,F)=>R[z]=
F),R},[M,w,_]=[S(i.words),S(o.words),S(t.tables.specs.map(k=>k.text))],E=k=>{let R=t.end[k];return R===4294967295?
Number.MAX_SAFE_INTEGER:b[R]-b[t.begin[k]]},v=new zs([{title:"Bytes",width:"minmax(5.5rem, 0.7fr)",isNumber:!0,
sort:k=>a[k],cell:k=>[j(a[k])]},{title:"Origin",width:"minmax(9rem, 3fr)",sort:k=>M[i.of(k)],cell:k=>Xe(i.words[i.
of(k)])},{title:"What for",width:"minmax(8rem, 3fr)",sort:k=>w[o.of(k)],cell:k=>[o.words[o.of(k)]]},{title:"Ar\
ray",width:"minmax(7rem, 2fr)",sort:k=>_[p[f[k]]],cell:k=>[t.tables.specs[p[f[k]]].text]},{title:"Address",width:"\
minmax(6rem, 0.9fr)",isNumber:!0,sort:k=>u[k],cell:k=>[At(u[k])]},{title:"Taken",width:"minmax(6rem, 0.9fr)",isNumber:!0,
sort:k=>t.begin[k],cell:k=>[Ze(b[t.begin[k]])]},{title:"Lived",width:"minmax(5rem, 0.8fr)",isNumber:!0,sort:E,
cell:k=>[t.end[k]===4294967295?"to the end":Gt(E(k))]},{title:"Memory",width:"minmax(4.5rem, 0.7fr)",sort:k=>h[k],
cell:k=>[t.tables.spaces[h[k]].name]}],0,!0,k=>e.block(k)),A=m("span",{class:"soft",id:"allocation-count"}),T=m(
"section",{},m("p",{class:"bar"},pt("Blocks",[["live","that live"],["allocated","allocated until then"],["all",
"all of the trace"]],s,k=>(s=k,$())),zl("Search allocations",k=>(l=k,$())),A),v.element),$=()=>{let k=s==="liv\
e"?n.live():n.made(0,s==="all"?t.steps:n.at),R=l.toLowerCase();if(R!==""){let[F,W]=["site_line","site_label"].
map(Z=>t.column(Z)),P=Z=>Z.toLowerCase().includes(R),[Q,B]=[i.words.map(P),o.words.map(P)],q=t.tables.specs.map(
Z=>P(Z.text)),G=Uint8Array.from(p,(Z,I)=>Number(Q[F[I]]||B[W[I]]||q[Z]));k=k.filter(Z=>G[f[Z]]===1)}let z=k.reduce(
(F,W)=>F+a[W],0);re(A,`${ge(k.length,"block")}, ${j(z)}`),v.show(k)};return{name:"allocations",title:"Allocati\
ons",element:T,show:$}}function ai(n,e){let{model:t}=n,s=[["start","Start of the trace"],...n.names().map(({name:h,
text:b})=>[h,b]),["now","Chosen moment"]],[l,i]=[n.model.tables.marks.length?"mark-0":"start","end"],o="line",
a=h=>h==="start"?0:h==="now"?n.at:n.byName(h).of(n.space),u=m("div",{}),f=m("section",{},m("p",{class:"bar"},pt(
"Taken after",s,l,h=>(l=h,p())),pt("and held at",s,i,h=>(i=h,p())),pt("By",Ll,o,h=>(o=h,p()))),u),p=()=>{let[h,
b]=[a(l),a(i)];if(b<=h){re(u,m("p",{class:"empty"},"The second moment is not behind the first one."));return}let S=n.
live(b).filter(E=>t.begin[E]>=h),M=Vt(t,S,o),w=Ps(t,S),_=E=>{let{of:v}=Ke(t,o);e.blocks(Xe(E.words),S.filter(A=>v(
A)===E.key))};re(u,m("h2",{},m("b",{id:"leaked-bytes","data-bytes":w.bytes,title:Ce(w.bytes)},j(w.bytes)),` in\
 ${ge(S.length,"block")} taken after ${Ze(h===0?0:t.timeAt(h))} and held at ${Ze(t.timeAt(b))}`),M.length?In(M,
M[0].bytes,_):m("p",{class:"empty"},"Nothing was taken in between and is still held."),M.length?ka(t,S,o,M,h,b):
null)};return{name:"leaks",title:"Leaks",element:f,show:p}}function ka(n,e,t,s,l,i){let o=s.slice(0,10),{of:a}=Ke(
n,t),[u,f]=[n.timeAt(Math.max(1,l)),n.timeAt(i)],p=40,h=new Map(o.map(M=>[M.key,new Uint32Array(p)])),b=n.column(
"time");for(let M of e){let w=h.get(a(M));w&&w[Math.min(p-1,Math.floor((b[n.begin[M]]-u)/Math.max(1,f-u)*p))]++}
let S=o.map(M=>{let w=h.get(M.key),_=Math.max(...w),E=w.filter(T=>T>0).length,v=Array.from(w,T=>m("i",{style:`\
height: ${T?Math.max(2,T/_*18):0}px`})),A=E>=p*.6?"all the time":E<=2?"at one time":`in ${E} of ${p} parts of \
the time`;return m("tr",{},m("td",{},m("div",{class:"bins"},...v)),m("td",{class:"soft"},A),m("td",{class:"key"},
...Xe(M.words)))});return m("div",{class:"scroll"},m("h3",{},"When they were taken"),m("table",{},m("tbody",{},
...S)))}function ci(n,e){let{model:t}=n,s=m("section",{});return{name:"padding",title:"Padding",element:s,show:()=>{
let i=n.live(),o=Ps(t,i),a=h=>h.bytes-h.logical,[u,f]=["array","line"].map(h=>Vt(t,i,h).filter(b=>a(b)>0).sort(
(b,S)=>a(S)-a(b))),p=(h,b,S)=>{let M=b==="array"&&t.tables.specs.some(v=>v.advice!==""),w=h.length?a(h[0]):1,_=h.
slice(0,200).map(v=>{let A=()=>{let{of:$}=Ke(t,b);e.blocks(Xe(v.words),i.filter(k=>$(k)===v.key))};return m("t\
r",{class:"opens",tabindex:0,onclick:A,onkeydown:$=>{$.key==="Enter"&&$.target===$.currentTarget&&A()},"data-l\
ost":a(v)},m("td",{class:"share"},m("i",{style:`width: ${a(v)/w*100}%`})),m("td",{class:"number",title:Ce(a(v))},
j(a(v))),m("td",{class:"number"},en(a(v),v.bytes)),m("td",{class:"number"},j(v.bytes)),m("td",{class:"number"},
Re(v.blocks)),m("td",{class:"key",title:v.words},...Xe(v.words)),M&&m("td",{},t.tables.specs[v.key].advice))}),
E=["","Lost","Of it","In memory","Blocks",S,...M?["What would avoid it"]:[]];return m("div",{class:"scroll"},m(
"table",{class:"sums"},m("thead",{},m("tr",{},...E.map((v,A)=>m("th",{class:A>0&&A<5?"number":void 0},v)))),m(
"tbody",{},..._)))};re(s,m("h2",{},m("b",{id:"padding-bytes","data-bytes":o.bytes-o.logical,title:Ce(o.bytes-o.
logical)},j(o.bytes-o.logical)),` of ${j(o.bytes)} are padding (${en(o.bytes-o.logical,o.bytes)})`),m("p",{class:"\
soft"},"Padding is what tiles of the device's layout and the heap's rounding add to the elements of an array."),
...u.length?[m("h3",{},"By array type"),p(u,"array","Array type"),m("h3",{},"By line"),p(f,"line","Origin")]:[
m("p",{class:"empty"},"Nothing that lived then had any.")])}}}function ui(n,e){let{model:t}=n,{refusals:s,spaces:l}=t.
tables,i=m("section",{}),o=!1;return{name:"refusals",title:"Out of memory",element:i,show:()=>{if(o)return;if(o=
!0,s.length===0){re(i,m("p",{class:"empty"},"No allocation of this trace found no room."));return}let u=s.slice(
0,50).map((f,p)=>{let h=f.at[f.space],b=n.live(h,f.space).slice(),S=l[f.space],M=t.tables.specs[f.spec],w=n.inUseAt(
h,f.space),_=Vt(t,b,"line"),E=Cs(n,b,S.capacity).holes,v=f.holes??{free:E.reduce((W,P)=>W+P.size,0),largest:E.
reduce((W,P)=>Math.max(W,P.size),0),count:E.length},A=W=>{let{of:P}=Ke(t,"line");e.blocks(Xe(W.words),b.filter(
Q=>P(Q)===W.key))},T=t.tables.labels[f.label],{advice:$,careful:k}=f.autopsy??{advice:[],careful:[]},[R,z]=[!0,
!1].map(W=>$.filter(([P])=>P===W).map(([,P])=>m("li",{},P))),F=m("details",{open:p===0,class:"refusal"});return Qe(
F,m("summary",{},m("b",{},`\u2715 ${S.name} had no room for ${j(f.size)}`),` at ${Ze(f.time)}`),m("p",{},`Aske\
d for ${Ce(f.size)}: ${T||M.text}, by ${t.tables.keys.entry[f.entry]}.`),m("p",{},`${j(w)} of ${j(S.capacity)}\
 were in use, ${j(v.free)} free in ${ge(v.count,"hole")}, the largest ${j(v.largest)}.`,v.free>=f.size&&v.largest<
f.size?" There was enough, but not in one piece.":null),m("p",{class:"bar"},m("button",{onclick:()=>{n.setSpace(
f.space),n.setNamed(`refusal-${p}`),n.setView("map")}},"Show the address map of this moment"),m("button",{onclick:()=>e.
one("Who asked",`For ${Ce(f.size)}`,f.stack)},"Show who asked")),...k.map(W=>m("p",{class:"careful"},`${W}.`)),
R.length>0&&m("h3",{},"What would make it fit, each checked by replay"),R.length>0&&m("ul",{class:"helps"},...R),
z.length>0&&m("h3",{},"What would not"),z.length>0&&m("ul",{},...z),f.autopsy===null&&m("p",{class:"soft"},"It\
 was not replayed; the first ten are, and tpu-emu autopsy replays any."),m("h3",{},"Who held the memory"),_.length?
In(_,_[0].bytes,A,20):m("p",{class:"empty"},"Nothing: it is larger than the memory.")),F});re(i,m("h2",{},ge(s.
length,"allocation")," without room"),...u),s.length>50&&i.append(m("p",{class:"soft"},`The first 50 of ${Re(s.
length)} are shown.`))}}}function fi(n){let e=new Map;for(let[,l,,i,o]of n.slots)e.set(i,(e.get(i)??0)+l),e.set(o+1,(e.get(o+1)??0)-l);
let[t,s]=[0,{position:0,bytes:0}];for(let l of[...e.keys()].sort((i,o)=>i-o))t+=e.get(l),t>s.bytes&&(s={position:l,
bytes:t});return s}function xa(n,e){let[l,i]=Vn(e,300,`Static plan of ${n.name}: ${ge(n.slots.length,"temporar\
y slot")}`),o=n.slots.reduce((_,E)=>Math.max(_,E[0]+E[1]),1),a=Math.max(n.positions,n.slots.reduce((_,E)=>Math.
max(_,E[4]+1),1)),u=_=>70+_/a*(e-70-4),f=_=>278-_/o*270;i.font="11px system-ui, sans-serif",i.fillStyle=me("--\
soft");for(let _=0;_<=4;_++)i.fillText(j(o*_/4),2,f(o*_/4)+4);i.fillText("first operation",70,294);let p=`oper\
ation ${Re(a)}`;i.fillText(p,e-i.measureText(p).width-4,294);let h=_=>[u(_[3]),f(_[0]+_[1]),Math.max(1,u(_[4]+
1)-u(_[3])),Math.max(1,f(_[0])-f(_[0]+_[1]))],b=[...new Set(n.slots.map(_=>_[6]))].sort(),S=me("--flame-ink"),
M=me("--paper");for(let _ of n.slots){let[E,v,A,T]=h(_);i.fillStyle=me(`--hue-${b.indexOf(_[6])%8}`),i.fillRect(
E,v,A,T),A>3&&T>3&&(i.strokeStyle=M,i.lineWidth=.7,i.strokeRect(E,v,A,T)),A>40&&T>12&&(i.fillStyle=S,i.fillText(
Nl(i,_[6].replace("stablehlo.",""),A-6),E+3,v+Math.min(T/2+4,T-2)))}let w=fi(n);return i.strokeStyle=me("--ink"),
i.setLineDash([4,3]),i.beginPath(),i.moveTo(u(w.position+.5),4),i.lineTo(u(w.position+.5),278),i.stroke(),l.addEventListener(
"mousemove",_=>{let E=l.getBoundingClientRect(),[v,A]=[_.clientX-E.left,_.clientY-E.top],T=n.slots.find($=>{let[
k,R,z,F]=h($);return v>=k&&v<=k+z&&A>=R&&A<=R+F});T?tt.show(_,`${T[6]}  ${T[5]}`,`${j(T[1])} at ${Re(T[0])}, o\
perations ${T[3]} to ${T[4]}`,T[7]):tt.hide()}),l.addEventListener("mouseleave",()=>tt.hide()),l}function Sa(n,e){
let t=fi(n),s=n.slots.filter(o=>o[3]<=t.position&&o[4]>=t.position).sort((o,a)=>a[1]-o[1]),l=s.slice(0,100).map(
([,o,a,u,f,p,h,b])=>m("tr",{},m("td",{class:"number",title:Ce(o)},j(o)),m("td",{class:"number"},o>a?j(o-a):"\u2013"),
m("td",{},h),m("td",{},p),m("td",{class:"number"},`${u}\u2013${f}`),m("td",{class:"key"},...Xe(b)))),i=["Bytes",
"Padding","Operation","Array","Lives","Line"].map((o,a)=>m("th",{class:a<2||a===4?"number":void 0},o));return m(
"div",{},xa(n,e),m("h3",{},`Temporaries at their peak, operation ${Re(t.position)}: ${j(t.bytes)} in ${ge(s.length,
"slot")}`),m("div",{class:"scroll"},m("table",{},m("thead",{},m("tr",{},...i)),m("tbody",{},...l))))}function hi(n,e){
let{model:t}=n,{programs:s,format:l}=t.tables,i=m("section",{}),o=s.reduce((u,f,p)=>f.temporaries>(s[u]?.temporaries??
-1)?p:u,0),a=()=>{if(re(i),s.length>0){let h=m("div",{class:"plan"}),b=s.map((M,w)=>({program:M,at:w})).sort((M,w)=>w.
program.temporaries-M.program.temporaries).map(({program:M,at:w})=>m("tr",{class:w===o?"chosen":void 0},m("td",
{},m("button",{class:"plain",onclick:()=>(o=w,a())},M.name)),...[M.temporaries,M.constants,M.arguments,M.results].
map(_=>m("td",{class:"number",title:Ce(_)},j(_))),m("td",{class:"number"},Re(M.slots.length)),m("td",{class:"n\
umber"},Re(M.runs)),m("td",{class:"number"},M.runs?Gt(M.ran):"\u2013"))),S=["Program","Temporaries","Constants",
"Arguments","Results","Slots","Runs","Ran for"].map((M,w)=>m("th",{class:w?"number":void 0},M));Qe(i,m("h2",{},
ge(s.length,"program")," with static plans"),m("div",{class:"scroll short"},m("table",{id:"programs"},m("thead",
{},m("tr",{},...S)),m("tbody",{},...b))),m("h3",{},`${s[o].name}: temporaries over its operations`),h),s[o].slots.
length?re(h,Sa(s[o],Math.max(300,i.clientWidth))):re(h,m("p",{class:"empty"},"This program has no temporaries."))}else{
let h=l[1]<5?`This trace has no static plans: they are written since format 1.5, and it is of ${l.join(".")}.`:
"No program was launched, so there is no static plan.";Qe(i,m("p",{class:"missing"},h))}let u=n.live(),f=Vt(t,
u,"executable"),p=h=>{let{of:b}=Ke(t,"executable");e.blocks([h.words],u.filter(S=>b(S)===h.key))};Qe(i,m("h2",
{},"What programs held at the chosen moment"),f.length?In(f,f[0].bytes,p):m("p",{class:"empty"},"Nothing lived\
 here then."))};return{name:"programs",title:"Programs",element:i,show:a}}var Ma=["instantiate","prepare","ini\
tialize","execute"];function mi(n,e){let{model:t}=n,{calls:s,entries:l,dispatches:i,dispatched:o,faults:a,format:u}=t.
tables,f=m("section",{}),p=!1,h=(M,w=!0)=>m("td",{class:w?"number":void 0},M),b=(M,w,_,E)=>m("div",{class:"scr\
oll"},m("table",{id:M},m("thead",{},m("tr",{},...w.map((v,A)=>m("th",{class:A<w.length-_&&A>0?"number":void 0},
v)))),m("tbody",{},...E)));return{name:"calls",title:"Calls",element:f,show:()=>{if(!p){if(p=!0,s.length){let M=new Map;
for(let E of s)M.set(E.function,[...M.get(E.function)??[],E]);let w=(E,v)=>E.reduce((A,T)=>A+T[v],0),_=[...M.entries()].
sort(([,E],[,v])=>w(v,"nanos")-w(E,"nanos")).map(([E,v])=>{let A=[...v].sort(($,k)=>k.nanos-$.nanos)[0],T=()=>e.
one(l[E],`${ge(w(v,"count"),"call")} from ${ge(v.length,"stack")}; of the one that took longest:`,A.stack);return m(
"tr",{"data-count":w(v,"count")},m("td",{},m("button",{class:"plain",onclick:T},l[E])),h(Re(w(v,"count"))),h(Gt(
w(v,"nanos"))),h(Gt(w(v,"nanos")/Math.max(1,w(v,"count")))),h(j(w(v,"bytes"))),h(w(v,"errors")?`\u2715 ${Re(w(
v,"errors"))}`:"\u2013"),h(Re(v.length)),h(Ze(Math.min(...v.map($=>$.first)))))});Qe(f,m("h2",{},"Calls of the\
 interface"),b("calls",["Function","Calls","Time","Each","Bytes","Errors","Stacks","First"],0,_))}else{let M=u[1]<
5?`This trace has no counts of calls: they are written since format 1.5, and it is of ${u.join(".")}.`:"This t\
race has no counts of calls: they were switched off (TPU_EMU_CALLS=off), or nothing was called.",w=n.made(0,t.
steps),_=Vt(t,w,"entry"),E=v=>{let{of:A}=Ke(t,"entry");e.blocks([v.words],w.filter(T=>A(T)===v.key))};Qe(f,m("\
p",{class:"missing"},M),m("h2",{},"Functions that took memory, over the whole trace"),_.length?In(_,_[0].bytes,
E):m("p",{class:"empty"},"None."))}if(o){let M=i.map(w=>m("tr",{},m("td",{},m("button",{class:"plain",onclick:()=>e.
one(w.target,w.line,w.stack)},w.target)),h(Re(w.count)),h(Gt(w.nanos)),h(j(w.scratch)),h(w.errors?`\u2715 ${Re(
w.errors)}`:"\u2013"),h(Ma[w.stage]??String(w.stage),!1),h(w.program,!1),m("td",{title:w.error},...Xe(w.line),
w.error?`: ${w.error}`:"")));Qe(f,m("h2",{},"Custom calls"),b("dispatches",["Target","Stages","Time","Scratch",
"Errors","Stage","Program","Line"],3,M))}if(a.length){let M=a.slice(0,500).map(w=>m("tr",{},m("td",{},m("butto\
n",{class:"plain",onclick:()=>e.one(w.entry||"A refused call",w.message,w.stack)},w.entry||"outside of the API")),
h(Ze(w.time)),h(w.message,!1)));Qe(f,m("h2",{},"Calls that were refused because of what they were given"),b("f\
aults",["Function","Time","What was wrong"],1,M))}}}}}var Aa="uplot",Ta="u-hz",Ea="u-vt",_a="u-title",La="u-wrap",$a="u-under",Pa="u-over",Ca="u-axis",yn="u-off",Da="\
u-select",Na="u-cursor-x",za="u-cursor-y",Ra="u-cursor-pt",Fa="u-legend",Ua="u-live",Ha="u-inline",Oa="u-serie\
s",Va="u-marker",di="u-label",Wa="u-value",ms="width",ds="height";var pi="bottom",Gn="left",Rl="right",Xl="#000",gi=Xl+"0",Fl="mousemove",bi="mousedown",Ul="mouseup",yi="mousee\
nter",wi="mouseleave",vi="dblclick",Ba="resize",Ia="scroll",ki="change",Bs="dppxchange",eo="--",Qn=typeof window<
"u",Bl=Qn?document:null,Kn=Qn?window:null,Ga=Qn?navigator:null,de,Hs;function Il(){let n=devicePixelRatio;de!=
n&&(de=n,Hs&&Yl(ki,Hs,Il),Hs=matchMedia(`(min-resolution: ${de-.001}dppx) and (max-resolution: ${de+.001}dppx)`),
wn(ki,Hs,Il),Kn.dispatchEvent(new CustomEvent(Bs)))}function gt(n,e){if(e!=null){let t=n.classList;!t.contains(
e)&&t.add(e)}}function Gl(n,e){let t=n.classList;t.contains(e)&&t.remove(e)}function Ae(n,e,t){n.style[e]=t+"p\
x"}function Ct(n,e,t,s){let l=Bl.createElement(n);return e!=null&&gt(l,e),t?.insertBefore(l,s),l}function Tt(n,e){
return Ct("div",n,e)}var xi=new WeakMap;function Wt(n,e,t,s,l){let i="translate("+e+"px,"+t+"px)",o=xi.get(n);
i!=o&&(n.style.transform=i,xi.set(n,i),e<0||t<0||e>s||t>l?gt(n,yn):Gl(n,yn))}var Si=new WeakMap;function Mi(n,e,t){
let s=e+t,l=Si.get(n);s!=l&&(Si.set(n,s),n.style.background=e,n.style.borderColor=t)}var Ai=new WeakMap;function Ti(n,e,t,s){
let l=e+""+t,i=Ai.get(n);l!=i&&(Ai.set(n,l),n.style.height=t+"px",n.style.width=e+"px",n.style.marginLeft=s?-e/
2+"px":0,n.style.marginTop=s?-t/2+"px":0)}var to={passive:!0},Ya={...to,capture:!0};function wn(n,e,t,s){e.addEventListener(
n,t,s?Ya:to)}function Yl(n,e,t,s){e.removeEventListener(n,t,to)}Qn&&Il();function Dt(n,e,t,s){let l;t=t||0,s=s||
e.length-1;let i=s<=2147483647;for(;s-t>1;)l=i?t+s>>1:bt((t+s)/2),e[l]<n?t=l:s=l;return n-e[t]<=e[s]-n?t:s}function er(n){
return(t,s,l)=>{let i=-1,o=-1;for(let a=s;a<=l;a++)if(n(t[a])){i=a;break}for(let a=l;a>=s;a--)if(n(t[a])){o=a;
break}return[i,o]}}var tr=n=>n!=null,nr=n=>n!=null&&n>0,Ys=er(tr),Ka=er(nr);function ja(n,e,t,s=0,l=!1){let i=l?
Ka:Ys,o=l?nr:tr;[e,t]=i(n,e,t);let a=n[e],u=n[e];if(e>-1)if(s==1)a=n[e],u=n[t];else if(s==-1)a=n[t],u=n[e];else
for(let f=e;f<=t;f++){let p=n[f];o(p)&&(p<a?a=p:p>u&&(u=p))}return[a??we,u??-we]}function Ks(n,e,t,s){let l=Li(
n),i=Li(e);n==e&&(l==-1?(n*=t,e/=t):(n/=t,e*=t));let o=t==10?Yt:sr,a=l==1?bt:Et,u=i==1?Et:bt,f=a(o(Ue(n))),p=u(
o(Ue(e))),h=jn(t,f),b=jn(t,p);return t==10&&(f<0&&(h=ve(h,-f)),p<0&&(b=ve(b,-p))),s||t==2?(n=h*l,e=b*i):(n=rr(
n,h),e=js(e,b)),[n,e]}function no(n,e,t,s){let l=Ks(n,e,t,s);return n==0&&(l[0]=0),e==0&&(l[1]=0),l}var so=.1,
Ei={mode:3,pad:so},gs={pad:0,soft:null,mode:0},qa={min:gs,max:gs};function Is(n,e,t,s){return qs(t)?_i(n,e,t):
(gs.pad=t,gs.soft=s?0:null,gs.mode=s?3:0,_i(n,e,qa))}function fe(n,e){return n??e}function Ja(n,e,t){for(e=fe(
e,0),t=fe(t,n.length-1);e<=t;){if(n[e]!=null)return!0;e++}return!1}function _i(n,e,t){let s=t.min,l=t.max,i=fe(
s.pad,0),o=fe(l.pad,0),a=fe(s.hard,-we),u=fe(l.hard,we),f=fe(s.soft,we),p=fe(l.soft,-we),h=fe(s.mode,0),b=fe(l.
mode,0),S=e-n,M=Yt(S),w=it(Ue(n),Ue(e)),_=Yt(w),E=Ue(_-M);(S<1e-24||E>10)&&(S=0,(n==0||e==0)&&(S=1e-24,h==2&&f!=
we&&(i=0),b==2&&p!=-we&&(o=0)));let v=S||w||1e3,A=Yt(v),T=jn(10,bt(A)),$=v*(S==0?n==0?.1:1:i),k=ve(rr(n-$,T/10),
24),R=n>=f&&(h==1||h==3&&k<=f||h==2&&k>=f)?f:we,z=it(a,k<R&&n>=R?R:Nt(R,k)),F=v*(S==0?e==0?.1:1:o),W=ve(js(e+F,
T/10),24),P=e<=p&&(b==1||b==3&&W>=p||b==2&&W<=p)?p:-we,Q=Nt(u,W>P&&e<=P?P:it(P,W));return z==Q&&z==0&&(Q=100),
[z,Q]}var Za=new Intl.NumberFormat(Qn?Ga.language:"en-US"),lo=n=>Za.format(n),yt=Math,Ws=yt.PI,Ue=yt.abs,bt=yt.
floor,Fe=yt.round,Et=yt.ceil,Nt=yt.min,it=yt.max,jn=yt.pow,Li=yt.sign,Yt=yt.log10,sr=yt.log2,Qa=(n,e=1)=>yt.sinh(
n)*e,Hl=(n,e=1)=>yt.asinh(n/e),we=1/0;function $i(n){return(Yt((n^n>>31)-(n>>31))|0)+1}function Kl(n,e,t){return Nt(
it(n,e),t)}function lr(n){return typeof n=="function"}function ae(n){return lr(n)?n:()=>n}var Xa=()=>{},or=n=>n,
ir=(n,e)=>e,ec=n=>null,Pi=n=>!0,Ci=(n,e)=>n==e,tc=/\.\d*?(?=9{6,}|0{6,})/gm,vn=n=>{if(cr(n)||sn.has(n))return n;
let e=`${n}`,t=e.match(tc);if(t==null)return n;let s=t[0].length-1;if(e.indexOf("e-")!=-1){let[l,i]=e.split("e");
return+`${vn(l)}e${i}`}return ve(n,s)};function gn(n,e){return vn(ve(vn(n/e))*e)}function js(n,e){return vn(Et(
vn(n/e))*e)}function rr(n,e){return vn(bt(vn(n/e))*e)}function ve(n,e=0){if(cr(n))return n;let t=10**e,s=n*t*(1+
Number.EPSILON);return Fe(s)/t}var sn=new Map;function ar(n){return((""+n).split(".")[1]||"").length}function ys(n,e,t,s){
let l=[],i=s.map(ar);for(let o=e;o<t;o++){let a=Ue(o),u=ve(jn(n,o),a);for(let f=0;f<s.length;f++){let p=n==10?
+`${s[f]}e${o}`:s[f]*u,h=(o>=0?0:a)+(o>=i[f]?0:i[f]),b=n==10?p:ve(p,h);l.push(b),sn.set(b,h)}}return l}var bs={},
oo=[],qn=[null,null],nn=Array.isArray,cr=Number.isInteger,nc=n=>n===void 0;function Di(n){return typeof n=="st\
ring"}function qs(n){let e=!1;if(n!=null){let t=n.constructor;e=t==null||t==Object}return e}function sc(n){return n!=
null&&typeof n=="object"}var lc=Object.getPrototypeOf(Uint8Array),ur="__proto__";function Jn(n,e=qs){let t;if(nn(
n)){let s=n.find(l=>l!=null);if(nn(s)||e(s)){t=Array(n.length);for(let l=0;l<n.length;l++)t[l]=Jn(n[l],e)}else
t=n.slice()}else if(n instanceof lc)t=n.slice();else if(e(n)){t={};for(let s in n)s!=ur&&(t[s]=Jn(n[s],e))}else
t=n;return t}function Ne(n){let e=arguments;for(let t=1;t<e.length;t++){let s=e[t];for(let l in s)l!=ur&&(qs(n[l])?
Ne(n[l],Jn(s[l])):n[l]=Jn(s[l]))}return n}var oc=0,ic=1,rc=2;function ac(n,e,t){for(let s=0,l,i=-1;s<e.length;s++){
let o=e[s];if(o>i){for(l=o-1;l>=0&&n[l]==null;)n[l--]=null;for(l=o+1;l<t&&n[l]==null;)n[i=l++]=null}}}function cc(n,e){
if(hc(n)){let o=n[0].slice();for(let a=1;a<n.length;a++)o.push(...n[a].slice(1));return mc(o[0])||(o=fc(o)),o}
let t=new Set;for(let o=0;o<n.length;o++){let u=n[o][0],f=u.length;for(let p=0;p<f;p++)t.add(u[p])}let s=[Array.
from(t).sort((o,a)=>o-a)],l=s[0].length,i=new Map;for(let o=0;o<l;o++)i.set(s[0][o],o);for(let o=0;o<n.length;o++){
let a=n[o],u=a[0];for(let f=1;f<a.length;f++){let p=a[f],h=Array(l).fill(void 0),b=e?e[o][f]:ic,S=[];for(let M=0;M<
p.length;M++){let w=p[M],_=i.get(u[M]);w===null?b!=oc&&(h[_]=w,b==rc&&S.push(_)):h[_]=w}ac(h,S,l),s.push(h)}}return s}
var uc=typeof queueMicrotask>"u"?n=>Promise.resolve().then(n):queueMicrotask;function fc(n){let e=n[0],t=e.length,
s=Array(t);for(let i=0;i<s.length;i++)s[i]=i;s.sort((i,o)=>e[i]-e[o]);let l=[];for(let i=0;i<n.length;i++){let o=n[i],
a=Array(t);for(let u=0;u<t;u++)a[u]=o[s[u]];l.push(a)}return l}function hc(n){let e=n[0][0],t=e.length;for(let s=1;s<
n.length;s++){let l=n[s][0];if(l.length!=t)return!1;if(l!=e){for(let i=0;i<t;i++)if(l[i]!=e[i])return!1}}return!0}
function mc(n,e=100){let t=n.length;if(t<=1)return!0;let s=0,l=t-1;for(;s<=l&&n[s]==null;)s++;for(;l>=s&&n[l]==
null;)l--;if(l<=s)return!0;let i=it(1,bt((l-s+1)/e));for(let o=n[s],a=s+i;a<=l;a+=i){let u=n[a];if(u!=null){if(u<=
o)return!1;o=u}}return!0}var fr=["January","February","March","April","May","June","July","August","September",
"October","November","December"],hr=["Sunday","Monday","Tuesday","Wednesday","Thursday","Friday","Saturday"];function mr(n){
return n.slice(0,3)}var dc=hr.map(mr),pc=fr.map(mr),gc={MMMM:fr,MMM:pc,WWWW:hr,WWW:dc};function hs(n){return(n<
10?"0":"")+n}function bc(n){return(n<10?"00":n<100?"0":"")+n}var yc={YYYY:n=>n.getFullYear(),YY:n=>(n.getFullYear()+
"").slice(2),MMMM:(n,e)=>e.MMMM[n.getMonth()],MMM:(n,e)=>e.MMM[n.getMonth()],MM:n=>hs(n.getMonth()+1),M:n=>n.getMonth()+
1,DD:n=>hs(n.getDate()),D:n=>n.getDate(),WWWW:(n,e)=>e.WWWW[n.getDay()],WWW:(n,e)=>e.WWW[n.getDay()],HH:n=>hs(
n.getHours()),H:n=>n.getHours(),h:n=>{let e=n.getHours();return e==0?12:e>12?e-12:e},AA:n=>n.getHours()>=12?"P\
M":"AM",aa:n=>n.getHours()>=12?"pm":"am",a:n=>n.getHours()>=12?"p":"a",mm:n=>hs(n.getMinutes()),m:n=>n.getMinutes(),
ss:n=>hs(n.getSeconds()),s:n=>n.getSeconds(),fff:n=>bc(n.getMilliseconds())};function io(n,e){e=e||gc;let t=[],
s=/\{([a-z]+)\}|[^{]+/gi,l;for(;l=s.exec(n);)t.push(l[0][0]=="{"?yc[l[1]]:l[0]);return i=>{let o="";for(let a=0;a<
t.length;a++)o+=typeof t[a]=="string"?t[a]:t[a](i,e);return o}}var wc=new Intl.DateTimeFormat().resolvedOptions().
timeZone;function vc(n,e){let t;return e=="UTC"||e=="Etc/UTC"?t=new Date(+n+n.getTimezoneOffset()*6e4):e==wc?t=
n:(t=new Date(n.toLocaleString("en-US",{timeZone:e})),t.setMilliseconds(n.getMilliseconds())),t}var dr=n=>n%1==
0,Gs=[1,2,2.5,5],kc=ys(10,-32,0,Gs),pr=ys(10,0,32,Gs),xc=pr.filter(dr),bn=kc.concat(pr),ro=`
`,gr="{YYYY}",Ni=ro+gr,br="{M}/{D}",ps=ro+br,Os=ps+"/{YY}",yr="{aa}",Sc="{h}:{mm}",Yn=Sc+yr,zi=ro+Yn,Ri=":{ss}",
be=null;function wr(n){let e=n*1e3,t=e*60,s=t*60,l=s*24,i=l*30,o=l*365,u=(n==1?ys(10,0,3,Gs).filter(dr):ys(10,
-3,0,Gs)).concat([e,e*5,e*10,e*15,e*30,t,t*5,t*10,t*15,t*30,s,s*2,s*3,s*4,s*6,s*8,s*12,l,l*2,l*3,l*4,l*5,l*6,l*
7,l*8,l*9,l*10,l*15,i,i*2,i*3,i*4,i*6,o,o*2,o*5,o*10,o*25,o*50,o*100]),f=[[o,gr,be,be,be,be,be,be,1],[l*28,"{M\
MM}",Ni,be,be,be,be,be,1],[l,br,Ni,be,be,be,be,be,1],[s,"{h}"+yr,Os,be,ps,be,be,be,1],[t,Yn,Os,be,ps,be,be,be,
1],[e,Ri,Os+" "+Yn,be,ps+" "+Yn,be,zi,be,1],[n,Ri+".{fff}",Os+" "+Yn,be,ps+" "+Yn,be,zi,be,1]];function p(h){return(b,S,M,w,_,E)=>{
let v=[],A=_>=o,T=_>=i&&_<o,$=h(M),k=ve($*n,3),R=Ol($.getFullYear(),A?0:$.getMonth(),T||A?1:$.getDate()),z=ve(
R*n,3);if(T||A){let F=T?_/i:0,W=A?_/o:0,P=k==z?k:ve(Ol(R.getFullYear()+W,R.getMonth()+F,1)*n,3),Q=new Date(Fe(
P/n)),B=Q.getFullYear(),q=Q.getMonth();for(let G=0;P<=w;G++){let Z=Ol(B+W*G,q+F*G,1),I=Z-h(ve(Z*n,3));P=ve((+Z+
I)*n,3),P<=w&&v.push(P)}}else{let F=_>=l?l:_,W=bt(M)-bt(k),P=z+W+js(k-z,F);v.push(P);let Q=h(P),B=Q.getHours()+
Q.getMinutes()/t+Q.getSeconds()/s,q=_/s,G=b.axes[S]._space,Z=E/G;for(;P=ve(P+_,n==1?0:3),!(P>w);)if(q>1){let I=bt(
ve(B+q,6))%24,le=h(P).getHours()-I;le>1&&(le=-1),P-=le*s,B=(B+q)%24;let oe=v[v.length-1];ve((P-oe)/_,3)*Z>=.7&&
v.push(P)}else v.push(P)}return v}}return[u,f,p]}var[Mc,Ac,Tc]=wr(1),[Ec,_c,Lc]=wr(.001);ys(2,-53,53,[1]);function Fi(n,e){
return n.map(t=>t.map((s,l)=>l==0||l==8||s==null?s:e(l==1||t[8]==0?s:t[1]+s)))}function Ui(n,e){return(t,s,l,i,o)=>{
let a=e.find(M=>o>=M[0])||e[e.length-1],u,f,p,h,b,S;return s.map(M=>{let w=n(M),_=w.getFullYear(),E=w.getMonth(),
v=w.getDate(),A=w.getHours(),T=w.getMinutes(),$=w.getSeconds(),k=_!=u&&a[2]||E!=f&&a[3]||v!=p&&a[4]||A!=h&&a[5]||
T!=b&&a[6]||$!=S&&a[7]||a[1];return u=_,f=E,p=v,h=A,b=T,S=$,k(w)})}}function $c(n,e){let t=io(e);return(s,l,i,o,a)=>l.
map(u=>t(n(u)))}function Ol(n,e,t){return new Date(n,e,t)}function Hi(n,e){return e(n)}var Pc="{YYYY}-{MM}-{DD\
} {h}:{mm}{aa}";function Oi(n,e){return(t,s,l,i)=>i==null?eo:e(n(s))}function Cc(n,e){let t=n.series[e];return t.
width?t.stroke(n,e):t.points.width?t.points.stroke(n,e):null}function Dc(n,e){return n.series[e].fill(n,e)}var Nc={
show:!0,live:!0,isolate:!1,mount:Xa,markers:{show:!0,width:2,stroke:Cc,fill:Dc,dash:"solid"},idx:null,idxs:null,
values:[]};function zc(n,e){let t=n.cursor.points,s=Tt(),l=t.size(n,e);Ae(s,ms,l),Ae(s,ds,l);let i=l/-2;Ae(s,"\
marginLeft",i),Ae(s,"marginTop",i);let o=t.width(n,e,l);return o&&Ae(s,"borderWidth",o),s}function Rc(n,e){let t=n.
series[e].points;return t._fill||t._stroke}function Fc(n,e){let t=n.series[e].points;return t._stroke||t._fill}
function Uc(n,e){return n.series[e].points.size}var Vl=[0,0];function Hc(n,e,t){return Vl[0]=e,Vl[1]=t,Vl}function Vs(n,e,t,s=!0){
return l=>{l.button==0&&(!s||l.target==e)&&t(l)}}function Wl(n,e,t,s=!0){return l=>{(!s||l.target==e)&&t(l)}}var Oc={
show:!0,x:!0,y:!0,lock:!1,move:Hc,points:{one:!1,show:zc,size:Uc,width:0,stroke:Fc,fill:Rc},bind:{mousedown:Vs,
mouseup:Vs,click:Vs,dblclick:Vs,mousemove:Wl,mouseleave:Wl,mouseenter:Wl},drag:{setScale:!0,x:!0,y:!1,dist:0,uni:null,
click:(n,e)=>{e.stopPropagation(),e.stopImmediatePropagation()},_x:!1,_y:!1},focus:{dist:(n,e,t,s,l)=>s-l,prox:-1,
bias:0},hover:{skip:[void 0],prox:null,bias:0},left:-10,top:-10,idx:null,dataIdx:null,idxs:null,event:null},vr={
show:!0,stroke:"rgba(0,0,0,0.07)",width:2},ao=Ne({},vr,{filter:ir}),kr=Ne({},ao,{size:10}),xr=Ne({},vr,{show:!1}),
co='12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif, "Appl\
e Color Emoji", "Segoe UI Emoji", "Segoe UI Symbol", "Noto Color Emoji"',Sr="bold "+co,Mr=1.5,Vi={show:!0,scale:"\
x",stroke:Xl,space:50,gap:5,alignTo:1,size:50,labelGap:0,labelSize:30,labelFont:Sr,side:2,grid:ao,ticks:kr,border:xr,
font:co,lineGap:Mr,rotate:0},Vc="Value",Wc="Time",Wi={show:!0,scale:"x",auto:!1,sorted:1,min:we,max:-we,idxs:[]};
function Bc(n,e,t,s,l){return e.map(i=>i==null?"":lo(i))}function Ic(n,e,t,s,l,i,o){let a=[],u=sn.get(l)||0;t=
o?t:ve(js(t,l),u);for(let f=t;f<=s;f=ve(f+l,u))a.push(Object.is(f,-0)?0:f);return a}function jl(n,e,t,s,l,i,o){
let a=[],u=n.scales[n.axes[e].scale].log,f=u==10?Yt:sr,p=bt(f(t));l=jn(u,p),u==10&&(l=bn[Dt(l,bn)]);let h=t,b=l*
u;u==10&&(b=bn[Dt(b,bn)]);do a.push(h),h=h+l,u==10&&!sn.has(h)&&(h=ve(h,sn.get(l))),h>=b&&(l=h,b=l*u,u==10&&(b=
bn[Dt(b,bn)]));while(h<=s);return a}function Gc(n,e,t,s,l,i,o){let u=n.scales[n.axes[e].scale].asinh,f=s>u?jl(
n,e,it(u,t),s,l):[u],p=s>=0&&t<=0?[0]:[];return(t<-u?jl(n,e,it(u,-s),-t,l):[u]).reverse().map(b=>-b).concat(p,
f)}var Ar=/./,Yc=/[12357]/,Kc=/[125]/,Bi=/1/,ql=(n,e,t,s)=>n.map((l,i)=>e==4&&l==0||i%s==0&&t.test(l.toExponential()[l<
0?1:0])?l:null);function jc(n,e,t,s,l){let i=n.axes[t],o=i.scale,a=n.scales[o],u=n.valToPos,f=i._space,p=u(10,
o),h=u(9,o)-p>=f?Ar:u(7,o)-p>=f?Yc:u(5,o)-p>=f?Kc:Bi;if(h==Bi){let b=Ue(u(1,o)-p);if(b<f)return ql(e.slice().reverse(),
a.distr,h,Et(f/b)).reverse()}return ql(e,a.distr,h,1)}function qc(n,e,t,s,l){let i=n.axes[t],o=i.scale,a=i._space,
u=n.valToPos,f=Ue(u(1,o)-u(2,o));return f<a?ql(e.slice().reverse(),3,Ar,Et(a/f)).reverse():e}function Jc(n,e,t,s){
return s==null?eo:e==null?"":lo(e)}var Ii={show:!0,scale:"y",stroke:Xl,space:30,gap:5,alignTo:1,size:50,labelGap:0,
labelSize:30,labelFont:Sr,side:3,grid:ao,ticks:kr,border:xr,font:co,lineGap:Mr,rotate:0};function Zc(n,e){let t=3+
(n||1)*2;return ve(t*e,3)}function Qc(n,e){let{scale:t,idxs:s}=n.series[0],l=n._data[0],i=n.valToPos(l[s[0]],t,
!0),o=n.valToPos(l[s[1]],t,!0),a=Ue(o-i),u=n.series[e],f=a/(u.points.space*de);return s[1]-s[0]<=f}var Gi={scale:null,
auto:!0,sorted:0,min:we,max:-we},Tr=(n,e,t,s,l)=>l,Yi={show:!0,auto:!0,sorted:0,gaps:Tr,alpha:1,facets:[Ne({},
Gi,{scale:"x"}),Ne({},Gi,{scale:"y"})]},Ki={scale:"y",auto:!0,sorted:0,show:!0,spanGaps:!1,gaps:Tr,alpha:1,points:{
show:Qc,filter:null},values:null,min:we,max:-we,idxs:[],path:null,clip:null};function Xc(n,e,t,s,l){return t/10}
var Er={time:!0,auto:!0,distr:1,log:10,asinh:1,min:null,max:null,dir:1,ori:0},eu=Ne({},Er,{time:!1,ori:1}),ji={};
function _r(n,e){let t=ji[n];return t||(t={key:n,plots:[],sub(s){t.plots.push(s)},unsub(s){t.plots=t.plots.filter(
l=>l!=s)},pub(s,l,i,o,a,u,f){for(let p=0;p<t.plots.length;p++)t.plots[p]!=l&&t.plots[p].pub(s,l,i,o,a,u,f)}},n!=
null&&(ji[n]=t)),t}var Zn=1,Jl=2;function kn(n,e,t){let s=n.mode,l=n.series[e],i=s==2?n._data[e]:n._data,o=n.scales,
a=n.bbox,u=i[0],f=s==2?i[1]:i[e],p=s==2?o[l.facets[0].scale]:o[n.series[0].scale],h=s==2?o[l.facets[1].scale]:
o[l.scale],b=a.left,S=a.top,M=a.width,w=a.height,_=n.valToPosH,E=n.valToPosV;return p.ori==0?t(l,u,f,p,h,_,E,b,
S,M,w,Zs,Xn,Xs,$r,Cr):t(l,u,f,p,h,E,_,S,b,w,M,Qs,es,ho,Pr,Dr)}function uo(n,e){let t=0,s=0,l=fe(n.bands,oo);for(let i=0;i<
l.length;i++){let o=l[i];o.series[0]==e?t=o.dir:o.series[1]==e&&(o.dir==1?s|=1:s|=2)}return[t,s==1?-1:s==2?1:s==
3?2:0]}function tu(n,e,t,s,l){let i=n.mode,o=n.series[e],a=i==2?o.facets[1].scale:o.scale,u=n.scales[a];return l==
-1?u.min:l==1?u.max:u.distr==3?u.dir==1?u.min:u.max:0}function Kt(n,e,t,s,l,i){return kn(n,e,(o,a,u,f,p,h,b,S,M,w,_)=>{
let E=o.pxRound,v=f.dir*(f.ori==0?1:-1),A=f.ori==0?Xn:es,T,$;v==1?(T=t,$=s):(T=s,$=t);let k=E(h(a[T],f,w,S)),R=E(
b(u[T],p,_,M)),z=E(h(a[$],f,w,S)),F=E(b(i==1?p.max:p.min,p,_,M)),W=new Path2D(l);return A(W,z,F),A(W,k,F),A(W,
k,R),W})}function Js(n,e,t,s,l,i){let o=null;if(n.length>0){o=new Path2D;let a=e==0?Xs:ho,u=t;for(let h=0;h<n.
length;h++){let b=n[h];if(b[1]>b[0]){let S=b[0]-u;S>0&&a(o,u,s,S,s+i),u=b[1]}}let f=t+l-u,p=10;f>0&&a(o,u,s-p/
2,f,s+i+p)}return o}function nu(n,e,t){let s=n[n.length-1];s&&s[0]==e?s[1]=t:n.push([e,t])}function fo(n,e,t,s,l,i,o){
let a=[],u=n.length;for(let f=l==1?t:s;f>=t&&f<=s;f+=l)if(e[f]===null){let h=f,b=f;if(l==1)for(;++f<=s&&e[f]===
null;)b=f;else for(;--f>=t&&e[f]===null;)b=f;let S=i(n[h]),M=b==h?S:i(n[b]),w=h-l;S=o<=0&&w>=0&&w<u?i(n[w]):S;
let E=b+l;M=o>=0&&E>=0&&E<u?i(n[E]):M,M>=S&&a.push([S,M])}return a}function qi(n){return n==0?or:n==1?Fe:e=>gn(
e,n)}function Lr(n){let e=n==0?Zs:Qs,t=n==0?(l,i,o,a,u,f)=>{l.arcTo(i,o,a,u,f)}:(l,i,o,a,u,f)=>{l.arcTo(o,i,u,
a,f)},s=n==0?(l,i,o,a,u)=>{l.rect(i,o,a,u)}:(l,i,o,a,u)=>{l.rect(o,i,u,a)};return(l,i,o,a,u,f=0,p=0)=>{f==0&&p==
0?s(l,i,o,a,u):(f=Nt(f,a/2,u/2),p=Nt(p,a/2,u/2),e(l,i+f,o),t(l,i+a,o,i+a,o+u,f),t(l,i+a,o+u,i,o+u,p),t(l,i,o+u,
i,o,p),t(l,i,o,i+a,o,f),l.closePath())}}var Zs=(n,e,t)=>{n.moveTo(e,t)},Qs=(n,e,t)=>{n.moveTo(t,e)},Xn=(n,e,t)=>{
n.lineTo(e,t)},es=(n,e,t)=>{n.lineTo(t,e)},Xs=Lr(0),ho=Lr(1),$r=(n,e,t,s,l,i)=>{n.arc(e,t,s,l,i)},Pr=(n,e,t,s,l,i)=>{
n.arc(t,e,s,l,i)},Cr=(n,e,t,s,l,i,o)=>{n.bezierCurveTo(e,t,s,l,i,o)},Dr=(n,e,t,s,l,i,o)=>{n.bezierCurveTo(t,e,
l,s,o,i)};function Nr(n){return(e,t,s,l,i)=>kn(e,t,(o,a,u,f,p,h,b,S,M,w,_)=>{let{pxRound:E,points:v}=o,A,T;f.ori==
0?(A=Zs,T=$r):(A=Qs,T=Pr);let $=ve(v.width*de,3),k=(v.size-v.width)/2*de,R=ve(k*2,3),z=new Path2D,F=new Path2D,
{left:W,top:P,width:Q,height:B}=e.bbox;Xs(F,W-R,P-R,Q+R*2,B+R*2);let q=G=>{if(u[G]!=null){let Z=E(h(a[G],f,w,S)),
I=E(b(u[G],p,_,M));A(z,Z+k,I),T(z,Z,I,k,0,Ws*2)}};if(i)i.forEach(q);else for(let G=s;G<=l;G++)q(G);return{stroke:$>
0?z:null,fill:z,clip:F,flags:Zn|Jl}})}function zr(n){return(e,t,s,l,i,o)=>{s!=l&&(i!=s&&o!=s&&n(e,t,s),i!=l&&o!=
l&&n(e,t,l),n(e,t,o))}}var su=zr(Xn),lu=zr(es);function Rr(n){let e=fe(n?.alignGaps,0);return(t,s,l,i)=>kn(t,s,
(o,a,u,f,p,h,b,S,M,w,_)=>{[l,i]=Ys(u,l,i);let E=o.pxRound,v=B=>E(h(B,f,w,S)),A=B=>E(b(B,p,_,M)),T,$;f.ori==0?(T=
Xn,$=su):(T=es,$=lu);let k=f.dir*(f.ori==0?1:-1),R={stroke:new Path2D,fill:null,clip:null,band:null,gaps:null,
flags:Zn},z=R.stroke,F=!1;if(i-l>=w*4){let B=D=>t.posToVal(D,f.key,!0),q=null,G=null,Z,I,je,pe=v(a[k==1?l:i]),
le=v(a[l]),oe=v(a[i]),ee=B(k==1?le+1:oe-1);for(let D=k==1?l:i;D>=l&&D<=i;D+=k){let Y=a[D],se=(k==1?Y<ee:Y>ee)?
pe:v(Y),te=u[D];se==pe?te!=null?(I=te,q==null?(T(z,se,A(I)),Z=q=G=I):I<q?q=I:I>G&&(G=I)):te===null&&(F=!0):(q!=
null&&$(z,pe,A(q),A(G),A(Z),A(I)),te!=null?(I=te,T(z,se,A(I)),q=G=Z=I):(q=G=null,te===null&&(F=!0)),pe=se,ee=B(
pe+k))}q!=null&&q!=G&&je!=pe&&$(z,pe,A(q),A(G),A(Z),A(I))}else for(let B=k==1?l:i;B>=l&&B<=i;B+=k){let q=u[B];
q===null?F=!0:q!=null&&T(z,v(a[B]),A(q))}let[P,Q]=uo(t,s);if(o.fill!=null||P!=0){let B=R.fill=new Path2D(z),q=o.
fillTo(t,s,o.min,o.max,P),G=A(q),Z=v(a[l]),I=v(a[i]);k==-1&&([I,Z]=[Z,I]),T(B,I,G),T(B,Z,G)}if(!o.spanGaps){let B=[];
F&&B.push(...fo(a,u,l,i,k,v,e)),R.gaps=B=o.gaps(t,s,l,i,B),R.clip=Js(B,f.ori,S,M,w,_)}return Q!=0&&(R.band=Q==
2?[Kt(t,s,l,i,z,-1),Kt(t,s,l,i,z,1)]:Kt(t,s,l,i,z,Q)),R})}function ou(n){let e=fe(n.align,1),t=fe(n.ascDesc,!1),
s=fe(n.alignGaps,0),l=fe(n.extend,!1);return(i,o,a,u)=>kn(i,o,(f,p,h,b,S,M,w,_,E,v,A)=>{[a,u]=Ys(h,a,u);let T=f.
pxRound,{left:$,width:k}=i.bbox,R=le=>T(M(le,b,v,_)),z=le=>T(w(le,S,A,E)),F=b.ori==0?Xn:es,W={stroke:new Path2D,
fill:null,clip:null,band:null,gaps:null,flags:Zn},P=W.stroke,Q=b.dir*(b.ori==0?1:-1),B=z(h[Q==1?a:u]),q=R(p[Q==
1?a:u]),G=q,Z=q;l&&e==-1&&(Z=$,F(P,Z,B)),F(P,q,B);for(let le=Q==1?a:u;le>=a&&le<=u;le+=Q){let oe=h[le];if(oe==
null)continue;let ee=R(p[le]),D=z(oe);e==1?F(P,ee,B):F(P,G,D),F(P,ee,D),B=D,G=ee}let I=G;l&&e==1&&(I=$+k,F(P,I,
B));let[je,pe]=uo(i,o);if(f.fill!=null||je!=0){let le=W.fill=new Path2D(P),oe=f.fillTo(i,o,f.min,f.max,je),ee=z(
oe);F(le,I,ee),F(le,Z,ee)}if(!f.spanGaps){let le=[];le.push(...fo(p,h,a,u,Q,R,s));let oe=f.width*de/2,ee=t||e==
1?oe:-oe,D=t||e==-1?-oe:oe;le.forEach(Y=>{Y[0]+=ee,Y[1]+=D}),W.gaps=le=f.gaps(i,o,a,u,le),W.clip=Js(le,b.ori,_,
E,v,A)}return pe!=0&&(W.band=pe==2?[Kt(i,o,a,u,P,-1),Kt(i,o,a,u,P,1)]:Kt(i,o,a,u,P,pe)),W})}function Ji(n,e,t,s,l,i,o=we){
if(n.length>1){let a=null;for(let u=0,f=1/0;u<n.length;u++)if(e[u]!==void 0){if(a!=null){let p=Ue(n[u]-n[a]);p<
f&&(f=p,o=Ue(t(n[u],s,l,i)-t(n[a],s,l,i)))}a=u}}return o}function iu(n){n=n||bs;let e=fe(n.size,[.6,we,1]),t=n.
align||0,s=n.gap||0,l=n.radius;l=l==null?[0,0]:typeof l=="number"?[l,0]:l;let i=ae(l),o=1-e[0],a=fe(e[1],we),u=fe(
e[2],1),f=fe(n.disp,bs),p=fe(n.each,S=>{}),{fill:h,stroke:b}=f;return(S,M,w,_)=>kn(S,M,(E,v,A,T,$,k,R,z,F,W,P)=>{
let Q=E.pxRound,B=t,q=s*de,G=a*de,Z=u*de,I,je;T.ori==0?[I,je]=i(S,M):[je,I]=i(S,M);let pe=T.dir*(T.ori==0?1:-1),
le=T.ori==0?Xs:ho,oe=T.ori==0?p:(O,ke,ze,An,rn,zt,an)=>{p(O,ke,ze,rn,An,an,zt)},ee=fe(S.bands,oo).find(O=>O.series[0]==
M),D=ee!=null?ee.dir:0,Y=E.fillTo(S,M,E.min,E.max,D),Te=Q(R(Y,$,P,F)),se,te,Oe,_e=W,ce=Q(E.width*de),ct=!1,ut=null,
wt=null,jt=null,xn=null;h!=null&&(ce==0||b!=null)&&(ct=!0,ut=h.values(S,M,w,_),wt=new Map,new Set(ut).forEach(
O=>{O!=null&&wt.set(O,new Path2D)}),ce>0&&(jt=b.values(S,M,w,_),xn=new Map,new Set(jt).forEach(O=>{O!=null&&xn.
set(O,new Path2D)})));let{x0:Sn,size:ts}=f;if(Sn!=null&&ts!=null){B=1,v=Sn.values(S,M,w,_),Sn.unit==2&&(v=v.map(
ze=>S.posToVal(z+ze*W,T.key,!0)));let O=ts.values(S,M,w,_);ts.unit==2?te=O[0]*W:te=k(O[0],T,W,z)-k(0,T,W,z),_e=
Ji(v,A,k,T,W,z,_e),Oe=_e-te+q}else _e=Ji(v,A,k,T,W,z,_e),Oe=_e*o+q,te=_e-Oe;Oe<1&&(Oe=0),ce>=te/2&&(ce=0),Oe<5&&
(Q=or);let ws=Oe>0,ln=_e-Oe-(ws?ce:0);te=Q(Kl(ln,Z,G)),se=(B==0?te/2:B==pe?0:te)-B*pe*((B==0?q/2:0)+(ws?ce/2:0));
let nt={stroke:null,fill:null,clip:null,band:null,gaps:null,flags:0},Mn=ct?null:new Path2D,Bt=null;if(ee!=null)
Bt=S.data[ee.series[1]];else{let{y0:O,y1:ke}=f;O!=null&&ke!=null&&(A=ke.values(S,M,w,_),Bt=O.values(S,M,w,_))}
let on=I*te,ne=je*te;for(let O=pe==1?w:_;O>=w&&O<=_;O+=pe){let ke=A[O];if(ke==null)continue;if(Bt!=null){let rt=Bt[O]??
0;if(ke-rt==0)continue;Te=R(rt,$,P,F)}let ze=T.distr!=2||f!=null?v[O]:O,An=k(ze,T,W,z),rn=R(fe(ke,Y),$,P,F),zt=Q(
An-se),an=Q(it(rn,Te)),ft=Q(Nt(rn,Te)),vt=an-ft;if(ke!=null){let rt=ke<0?ne:on,_t=ke<0?on:ne;ct?(ce>0&&jt[O]!=
null&&le(xn.get(jt[O]),zt,ft+bt(ce/2),te,it(0,vt-ce),rt,_t),ut[O]!=null&&le(wt.get(ut[O]),zt,ft+bt(ce/2),te,it(
0,vt-ce),rt,_t)):le(Mn,zt,ft+bt(ce/2),te,it(0,vt-ce),rt,_t),oe(S,M,O,zt-ce/2,ft,te+ce,vt)}}return ce>0?nt.stroke=
ct?xn:Mn:ct||(nt._fill=E.width==0?E._fill:E._stroke??E._fill,nt.width=0),nt.fill=ct?wt:Mn,nt})}function ru(n,e){
let t=fe(e?.alignGaps,0);return(s,l,i,o)=>kn(s,l,(a,u,f,p,h,b,S,M,w,_,E)=>{[i,o]=Ys(f,i,o);let v=a.pxRound,A=I=>v(
b(I,p,_,M)),T=I=>v(S(I,h,E,w)),$,k,R;p.ori==0?($=Zs,R=Xn,k=Cr):($=Qs,R=es,k=Dr);let z=p.dir*(p.ori==0?1:-1),F=A(
u[z==1?i:o]),W=F,P=[],Q=[];for(let I=z==1?i:o;I>=i&&I<=o;I+=z)if(f[I]!=null){let pe=u[I],le=A(pe);P.push(W=le),
Q.push(T(f[I]))}let B={stroke:n(P,Q,$,R,k,v),fill:null,clip:null,band:null,gaps:null,flags:Zn},q=B.stroke,[G,Z]=uo(
s,l);if(a.fill!=null||G!=0){let I=B.fill=new Path2D(q),je=a.fillTo(s,l,a.min,a.max,G),pe=T(je);R(I,W,pe),R(I,F,
pe)}if(!a.spanGaps){let I=[];I.push(...fo(u,f,i,o,z,A,t)),B.gaps=I=a.gaps(s,l,i,o,I),B.clip=Js(I,p.ori,M,w,_,E)}
return Z!=0&&(B.band=Z==2?[Kt(s,l,i,o,q,-1),Kt(s,l,i,o,q,1)]:Kt(s,l,i,o,q,Z)),B})}function au(n){return ru(cu,
n)}function cu(n,e,t,s,l,i){let o=n.length;if(o<2)return null;let a=new Path2D;if(t(a,n[0],e[0]),o==2)s(a,n[1],
e[1]);else{let u=Array(o),f=Array(o-1),p=Array(o-1),h=Array(o-1);for(let b=0;b<o-1;b++)p[b]=e[b+1]-e[b],h[b]=n[b+
1]-n[b],f[b]=p[b]/h[b];u[0]=f[0];for(let b=1;b<o-1;b++)f[b]===0||f[b-1]===0||f[b-1]>0!=f[b]>0?u[b]=0:(u[b]=3*(h[b-
1]+h[b])/((2*h[b]+h[b-1])/f[b-1]+(h[b]+2*h[b-1])/f[b]),isFinite(u[b])||(u[b]=0));u[o-1]=f[o-2];for(let b=0;b<o-
1;b++)l(a,n[b]+h[b]/3,e[b]+u[b]*h[b]/3,n[b+1]-h[b]/3,e[b+1]-u[b+1]*h[b]/3,n[b+1],e[b+1])}return a}var Zl=new Set;
function Zi(){for(let n of Zl)n.syncRect(!0)}Qn&&(wn(Ba,Kn,Zi),wn(Ia,Kn,Zi,!0),wn(Bs,Kn,()=>{He.pxRatio=de}));
var uu=Rr(),fu=Nr();function Qi(n,e,t,s){return(s?[n[0],n[1]].concat(n.slice(2)):[n[0]].concat(n.slice(1))).map(
(i,o)=>Ql(i,o,e,t))}function hu(n,e){return n.map((t,s)=>s==0?{}:Ne({},e,t))}function Ql(n,e,t,s){return Ne({},
e==0?t:s,n)}function Fr(n,e,t){return e==null?qn:[e,t]}var mu=Fr;function du(n,e,t){return e==null?qn:Is(e,t,so,
!0)}function Ur(n,e,t,s){return e==null?qn:Ks(e,t,n.scales[s].log,!1)}var pu=Ur;function Hr(n,e,t,s){return e==
null?qn:no(e,t,n.scales[s].log,!1)}var gu=Hr;function bu(n,e,t,s,l){let i=it($i(n),$i(e)),o=e-n,a=Dt(l/s*o,t);
do{let u=t[a],f=s*u/o;if(f>=l&&i+(u<5?sn.get(u):0)<=17)return[u,f]}while(++a<t.length);return[0,0]}function Xi(n){
let e,t;return n=n.replace(/(\d+)px/,(s,l)=>(e=Fe((t=+l)*de))+"px"),[n,e,t]}function yu(n){n.show&&[n.font,n.labelFont].
forEach(e=>{let t=ve(e[2]*de,1);e[0]=e[0].replace(/[0-9.]+px/,t+"px"),e[1]=t})}function He(n,e,t){let s={mode:fe(
n.mode,1)},l=s.mode;function i(r,c,d,g){let y=c.valToPct(r);return g+d*(c.dir==-1?1-y:y)}function o(r,c,d,g){let y=c.
valToPct(r);return g+d*(c.dir==-1?y:1-y)}function a(r,c,d,g){return c.ori==0?i(r,c,d,g):o(r,c,d,g)}s.valToPosH=
i,s.valToPosV=o;let u=!1;s.status=0;let f=s.root=Tt(Aa);if(n.id!=null&&(f.id=n.id),gt(f,n.class),n.title){let r=Tt(
_a,f);r.textContent=n.title}let p=Ct("canvas"),h=s.ctx=p.getContext("2d"),b=Tt(La,f);wn("click",b,r=>{r.target===
M&&(xe!=Rn||Ee!=Fn)&&Je.click(s,r)},!0);let S=s.under=Tt($a,b);b.appendChild(p);let M=s.over=Tt(Pa,b);n=Jn(n);
let w=+fe(n.pxAlign,1),_=qi(w);(n.plugins||[]).forEach(r=>{r.opts&&(n=r.opts(s,n)||n)});let E=n.ms||.001,v=s.series=
l==1?Qi(n.series||[],Wi,Ki,!1):hu(n.series||[null],Yi),A=s.axes=Qi(n.axes||[],Vi,Ii,!0),T=s.scales={},$=s.bands=
n.bands||[];$.forEach(r=>{r.fill=ae(r.fill||null),r.dir=fe(r.dir,-1)});let k=l==2?v[1].facets[0].scale:v[0].scale,
R={axes:na,series:Zr},z=(n.drawOrder||["axes","series"]).map(r=>R[r]);function F(r){let c=r.distr==3?d=>Yt(d>0?
d:r.clamp(s,d,r.min,r.max,r.key)):r.distr==4?d=>Hl(d,r.asinh):r.distr==100?d=>r.fwd(d):d=>d;return d=>{let g=c(
d),{_min:y,_max:x}=r,L=x-y;return(g-y)/L}}function W(r){let c=T[r];if(c==null){let d=(n.scales||bs)[r]||bs;if(d.
from!=null){W(d.from);let g=Ne({},T[d.from],d,{key:r});g.valToPct=F(g),T[r]=g}else{c=T[r]=Ne({},r==k?Er:eu,d),
c.key=r;let g=c.time,y=c.range,x=nn(y);if((r!=k||l==2&&!g)&&(x&&(y[0]==null||y[1]==null)&&(y={min:y[0]==null?Ei:
{mode:1,hard:y[0],soft:y[0]},max:y[1]==null?Ei:{mode:1,hard:y[1],soft:y[1]}},x=!1),!x&&qs(y))){let L=y;y=(C,N,U)=>N==
null?qn:Is(N,U,L)}c.range=ae(y||(g?mu:r==k?c.distr==3?pu:c.distr==4?gu:Fr:c.distr==3?Ur:c.distr==4?Hr:du)),c.auto=
ae(x?!1:c.auto),c.clamp=ae(c.clamp||Xc),c._min=c._max=null,c.valToPct=F(c)}}}W("x"),W("y"),l==1&&v.forEach(r=>{
W(r.scale)}),A.forEach(r=>{W(r.scale)});for(let r in n.scales)W(r);let P=T[k],Q=P.distr,B,q;P.ori==0?(gt(f,Ta),
B=i,q=o):(gt(f,Ea),B=o,q=i);let G={};for(let r in T){let c=T[r];(c.min!=null||c.max!=null)&&(G[r]={min:c.min,max:c.
max},c.min=c.max=null)}let Z=n.tzDate||(r=>new Date(Fe(r/E))),I=n.fmtDate||io,je=E==1?Tc(Z):Lc(Z),pe=Ui(Z,Fi(E==
1?Ac:_c,I)),le=Oi(Z,Hi(Pc,I)),oe=[],ee=s.legend=Ne({},Nc,n.legend),D=s.cursor=Ne({},Oc,{drag:{y:l==2}},n.cursor),
Y=ee.show,Te=D.show,se=ee.markers;ee.idxs=oe,se.width=ae(se.width),se.dash=ae(se.dash),se.stroke=ae(se.stroke),
se.fill=ae(se.fill);let te,Oe,_e,ce=[],ct=[],ut,wt=!1,jt={};if(ee.live){let r=v[1]?v[1].values:null;wt=r!=null,
ut=wt?r(s,1,0):{_:0};for(let c in ut)jt[c]=eo}if(Y)if(te=Ct("table",Fa,f),_e=Ct("tbody",null,te),ee.mount(s,te),
wt){Oe=Ct("thead",null,te,_e);let r=Ct("tr",null,Oe);Ct("th",null,r);for(var xn in ut)Ct("th",di,r).textContent=
xn}else gt(te,Ha),ee.live&&gt(te,Ua);let Sn={show:!0},ts={show:!1};function ws(r,c){if(c==0&&(wt||!ee.live||l==
2))return qn;let d=[],g=Ct("tr",Oa,_e,_e.childNodes[c]);gt(g,r.class),r.show||gt(g,yn);let y=Ct("th",null,g);if(se.
show){let C=Tt(Va,y);if(c>0){let N=se.width(s,c);N&&(C.style.border=N+"px "+se.dash(s,c)+" "+se.stroke(s,c)),C.
style.background=se.fill(s,c)}}let x=Tt(di,y);r.label instanceof HTMLElement?x.appendChild(r.label):x.textContent=
r.label,c>0&&(se.show||(x.style.color=r.width>0?se.stroke(s,c):se.fill(s,c)),nt("click",y,C=>{if(D._lock)return;
un(C);let N=v.indexOf(r);if((C.ctrlKey||C.metaKey)!=ee.isolate){let U=v.some((H,V)=>V>0&&V!=N&&H.show);v.forEach(
(H,V)=>{V>0&&Ft(V,U?V==N?Sn:ts:Sn,!0,Pe.setSeries)})}else Ft(N,{show:!r.show},!0,Pe.setSeries)},!1),En&&nt(yi,
y,C=>{D._lock||(un(C),Ft(v.indexOf(r),Hn,!0,Pe.setSeries))},!1));for(var L in ut){let C=Ct("td",Wa,g);C.textContent=
"--",d.push(C)}return[g,d]}let ln=new Map;function nt(r,c,d,g=!0){let y=ln.get(c)||{},x=D.bind[r](s,c,d,g);x&&
(wn(r,c,y[r]=x),ln.set(c,y))}function Mn(r,c,d){let g=ln.get(c)||{};for(let y in g)(r==null||y==r)&&(Yl(y,c,g[y]),
delete g[y]);r==null&&ln.delete(c)}let Bt=0,on=0,ne=0,O=0,ke=0,ze=0,An=ke,rn=ze,zt=ne,an=O,ft=0,vt=0,rt=0,_t=0;
s.bbox={};let nl=!1,vs=!1,Tn=!1,cn=!1,ks=!1,kt=!1;function sl(r,c,d){(d||r!=s.width||c!=s.height)&&go(r,c),Cn(
!1),Tn=!0,vs=!0,Dn()}function go(r,c){s.width=Bt=ne=r,s.height=on=O=c,ke=ze=0,Ir(),Gr();let d=s.bbox;ft=d.left=
gn(ke*de,.5),vt=d.top=gn(ze*de,.5),rt=d.width=gn(ne*de,.5),_t=d.height=gn(O*de,.5)}let Vr=3;function Wr(){let r=!1,
c=0;for(;!r;){c++;let d=ea(c),g=ta(c);r=c==Vr||d&&g,r||(go(s.width,s.height),vs=!0)}}function Br({width:r,height:c}){
sl(r,c)}s.setSize=Br;function Ir(){let r=!1,c=!1,d=!1,g=!1;A.forEach((y,x)=>{if(y.show&&y._show){let{side:L,_size:C}=y,
N=L%2,U=y.label!=null?y.labelSize:0,H=C+U;H>0&&(N?(ne-=H,L==3?(ke+=H,g=!0):d=!0):(O-=H,L==0?(ze+=H,r=!0):c=!0))}}),
fn[0]=r,fn[1]=d,fn[2]=c,fn[3]=g,ne-=qt[1]+qt[3],ke+=qt[3],O-=qt[2]+qt[0],ze+=qt[0]}function Gr(){let r=ke+ne,c=ze+
O,d=ke,g=ze;function y(x,L){switch(x){case 1:return r+=L,r-L;case 2:return c+=L,c-L;case 3:return d-=L,d+L;case 0:
return g-=L,g+L}}A.forEach((x,L)=>{if(x.show&&x._show){let C=x.side;x._pos=y(C,x._size),x.label!=null&&(x._lpos=
y(C,x.labelSize))}})}if(D.dataIdx==null){let r=D.hover,c=r.skip=new Set(r.skip??[]);c.add(void 0);let d=r.prox=
ae(r.prox),g=r.bias??=0;D.dataIdx=(y,x,L,C)=>{if(x==0)return L;let N=L,U=d(y,x,L,C)??we,H=U>=0&&U<we,V=P.ori==
0?ne:O,X=D.left,he=e[0],ue=e[x];if(c.has(ue[L])){N=null;let ie=null,J=null,K;if(g==0||g==-1)for(K=L;ie==null&&
K-- >0;)c.has(ue[K])||(ie=K);if(g==0||g==1)for(K=L;J==null&&K++<ue.length;)c.has(ue[K])||(J=K);if(ie!=null||J!=
null)if(H){let Me=ie==null?-1/0:B(he[ie],P,V,0),Le=J==null?1/0:B(he[J],P,V,0),Ye=X-Me,ye=Le-X;Ye<=ye?Ye<=U&&(N=
ie):ye<=U&&(N=J)}else N=J==null?ie:ie==null?J:L-ie<=J-L?ie:J}else H&&Ue(X-B(he[L],P,V,0))>U&&(N=null);return N}}
let un=r=>{D.event=r};D.idxs=oe,D._lock=!1;let et=D.points;et.show=ae(et.show),et.size=ae(et.size),et.stroke=ae(
et.stroke),et.width=ae(et.width),et.fill=ae(et.fill);let Rt=s.focus=Ne({},n.focus||{alpha:.3},D.focus),En=Rt.prox>=
0,_n=En&&et.one,xt=[],Ln=[],$n=[];function bo(r,c){let d=et.show(s,c);if(d instanceof HTMLElement)return gt(d,
Ra),gt(d,r.class),Wt(d,-10,-10,ne,O),M.insertBefore(d,xt[c]),d}function yo(r,c){if(l==1||c>0){let d=l==1&&T[r.
scale].time,g=r.value;r.value=d?Di(g)?Oi(Z,Hi(g,I)):g||le:g||Jc,r.label=r.label||(d?Wc:Vc)}if(_n||c>0){r.width=
r.width==null?1:r.width,r.paths=r.paths||uu||ec,r.fillTo=ae(r.fillTo||tu),r.pxAlign=+fe(r.pxAlign,w),r.pxRound=
qi(r.pxAlign),r.stroke=ae(r.stroke||null),r.fill=ae(r.fill||null),r._stroke=r._fill=r._paths=r._focus=null;let d=Zc(
it(1,r.width),1),g=r.points=Ne({},{size:d,width:it(1,d*.2),stroke:r.stroke,space:d*2,paths:fu,_stroke:null,_fill:null},
r.points);g.show=ae(g.show),g.filter=ae(g.filter),g.fill=ae(g.fill),g.stroke=ae(g.stroke),g.paths=ae(g.paths),
g.pxAlign=r.pxAlign}if(Y){let d=ws(r,c);ce.splice(c,0,d[0]),ct.splice(c,0,d[1]),ee.values.push(null)}if(Te){oe.
splice(c,0,null);let d=null;_n?c==0&&(d=bo(r,c)):c>0&&(d=bo(r,c)),xt.splice(c,0,d),Ln.splice(c,0,0),$n.splice(
c,0,0)}Ge("addSeries",c)}function Yr(r,c){c=c??v.length,r=l==1?Ql(r,c,Wi,Ki):Ql(r,c,{},Yi),v.splice(c,0,r),yo(
v[c],c)}s.addSeries=Yr;function Kr(r){if(v.splice(r,1),Y){ee.values.splice(r,1),ct.splice(r,1);let c=ce.splice(
r,1)[0];Mn(null,c.firstChild),c.remove()}Te&&(oe.splice(r,1),xt.splice(r,1)[0].remove(),Ln.splice(r,1),$n.splice(
r,1)),Ge("delSeries",r)}s.delSeries=Kr;let fn=[!1,!1,!1,!1];function jr(r,c){if(r._show=r.show,r.show){let d=r.
side%2,g=T[r.scale];g==null&&(r.scale=d?v[1].scale:k,g=T[r.scale]);let y=g.time;r.size=ae(r.size),r.space=ae(r.
space),r.rotate=ae(r.rotate),nn(r.incrs)&&r.incrs.forEach(L=>{!sn.has(L)&&sn.set(L,ar(L))}),r.incrs=ae(r.incrs||
(g.distr==2?xc:y?E==1?Mc:Ec:bn)),r.splits=ae(r.splits||(y&&g.distr==1?je:g.distr==3?jl:g.distr==4?Gc:Ic)),r.stroke=
ae(r.stroke),r.grid.stroke=ae(r.grid.stroke),r.ticks.stroke=ae(r.ticks.stroke),r.border.stroke=ae(r.border.stroke);
let x=r.values;r.values=nn(x)&&!nn(x[0])?ae(x):y?nn(x)?Ui(Z,Fi(x,I)):Di(x)?$c(Z,x):x||pe:x||Bc,r.filter=ae(r.filter||
(g.distr>=3&&g.log==10?jc:g.distr==3&&g.log==2?qc:ir)),r.font=Xi(r.font),r.labelFont=Xi(r.labelFont),r._size=r.
size(s,null,c,0),r._space=r._rotate=r._incrs=r._found=r._splits=r._values=null,r._size>0&&(fn[c]=!0,r._el=Tt(Ca,
b))}}function ns(r,c,d,g){let[y,x,L,C]=d,N=c%2,U=0;return N==0&&(C||x)&&(U=c==0&&!y||c==2&&!L?Fe(Vi.size/3):0),
N==1&&(y||L)&&(U=c==1&&!x||c==3&&!C?Fe(Ii.size/2):0),U}let wo=s.padding=(n.padding||[ns,ns,ns,ns]).map(r=>ae(fe(
r,ns))),qt=s._padding=wo.map((r,c)=>r(s,c,fn,0)),qe,Ve=null,We=null,xs=l==1?v[0].idxs:null,Lt=null,ss=!1;function vo(r,c){
if(e=r??[],s.data=s._data=e,l==2){qe=0;for(let d=1;d<v.length;d++)qe+=e[d][0].length}else{e.length==0&&(s.data=
s._data=e=[[]]),Lt=e[0],qe=Lt.length;let d=e;if(Q==2){d=e.slice();let g=d[0]=Array(qe);for(let y=0;y<qe;y++)g[y]=
y}s._data=e=d}if(Cn(!0),Ge("setData"),Q==2&&(Tn=!0),c!==!1){let d=P;d.auto(s,ss)?ll():Zt(k,d.min,d.max),cn=cn||
D.left>=0,kt=!0,Dn()}}s.setData=vo;function ll(){ss=!0;let r,c;l==1&&(qe>0?(Ve=xs[0]=0,We=xs[1]=qe-1,r=e[0][Ve],
c=e[0][We],Q==2?(r=Ve,c=We):r==c&&(Q==3?[r,c]=Ks(r,r,P.log,!1):Q==4?[r,c]=no(r,r,P.log,!1):P.time?c=r+Fe(86400/
E):[r,c]=Is(r,c,so,!0))):(Ve=xs[0]=r=null,We=xs[1]=c=null)),Zt(k,r,c)}let Ss,Pn,ol,il,rl,al,cl,ul,fl,at;function ko(r,c,d,g,y,x){
r??=gi,d??=oo,g??="butt",y??=gi,x??="round",r!=Ss&&(h.strokeStyle=Ss=r),y!=Pn&&(h.fillStyle=Pn=y),c!=ol&&(h.lineWidth=
ol=c),x!=rl&&(h.lineJoin=rl=x),g!=al&&(h.lineCap=al=g),d!=il&&h.setLineDash(il=d)}function xo(r,c,d,g){c!=Pn&&
(h.fillStyle=Pn=c),r!=cl&&(h.font=cl=r),d!=ul&&(h.textAlign=ul=d),g!=fl&&(h.textBaseline=fl=g)}function hl(r,c,d,g,y=0){
if(g.length>0&&r.auto(s,ss)&&(c==null||c.min==null)){let x=fe(Ve,0),L=fe(We,g.length-1),C=d.min==null?ja(g,x,L,
y,r.distr==3):[d.min,d.max];r.min=Nt(r.min,d.min=C[0]),r.max=it(r.max,d.max=C[1])}}let So={min:null,max:null};
function qr(){for(let g in T){let y=T[g];G[g]==null&&(y.min==null||G[k]!=null&&y.auto(s,ss))&&(G[g]=So)}for(let g in T){
let y=T[g];G[g]==null&&y.from!=null&&G[y.from]!=null&&(G[g]=So)}G[k]!=null&&Cn(!0);let r={};for(let g in G){let y=G[g];
if(y!=null){let x=r[g]=Jn(T[g],sc);if(y.min!=null)Ne(x,y);else if(g!=k||l==2)if(qe==0&&x.from==null){let L=x.range(
s,null,null,g);x.min=L[0],x.max=L[1]}else x.min=we,x.max=-we}}if(qe>0){v.forEach((g,y)=>{if(l==1){let x=g.scale,
L=G[x];if(L==null)return;let C=r[x];if(y==0){let N=C.range(s,C.min,C.max,x);C.min=N[0],C.max=N[1],Ve=Dt(C.min,
e[0]),We=Dt(C.max,e[0]),We-Ve>1&&(e[0][Ve]<C.min&&Ve++,e[0][We]>C.max&&We--),g.min=Lt[Ve],g.max=Lt[We]}else g.
show&&g.auto&&hl(C,L,g,e[y],g.sorted);g.idxs[0]=Ve,g.idxs[1]=We}else if(y>0&&g.show&&g.auto){let[x,L]=g.facets,
C=x.scale,N=L.scale,[U,H]=e[y],V=r[C],X=r[N];V!=null&&hl(V,G[C],x,U,x.sorted),X!=null&&hl(X,G[N],L,H,L.sorted),
g.min=L.min,g.max=L.max}});for(let g in r){let y=r[g],x=G[g];if(y.from==null&&(x==null||x.min==null)){let L=y.
range(s,y.min==we?null:y.min,y.max==-we?null:y.max,g);y.min=L[0],y.max=L[1]}}}for(let g in r){let y=r[g];if(y.
from!=null){let x=r[y.from];if(x.min==null)y.min=y.max=null;else{let L=y.range(s,x.min,x.max,g);y.min=L[0],y.max=
L[1]}}}let c={},d=!1;for(let g in r){let y=r[g],x=T[g];if(x.min!=y.min||x.max!=y.max){x.min=y.min,x.max=y.max;
let L=x.distr;x._min=L==3?Yt(x.min):L==4?Hl(x.min,x.asinh):L==100?x.fwd(x.min):x.min,x._max=L==3?Yt(x.max):L==
4?Hl(x.max,x.asinh):L==100?x.fwd(x.max):x.max,c[g]=d=!0}}if(d){v.forEach((g,y)=>{l==2?y>0&&c.y&&(g._paths=null):
c[g.scale]&&(g._paths=null)});for(let g in c)Tn=!0,Ge("setScale",g);Te&&D.left>=0&&(cn=kt=!0)}for(let g in G)G[g]=
null}function Jr(r){let c=Kl(Ve-1,0,qe-1),d=Kl(We+1,0,qe-1);for(;r[c]==null&&c>0;)c--;for(;r[d]==null&&d<qe-1;)
d++;return[c,d]}function Zr(){if(qe>0){let r=v.some(c=>c._focus)&&at!=Rt.alpha;r&&(h.globalAlpha=at=Rt.alpha),
v.forEach((c,d)=>{if(d>0&&c.show&&(Mo(d,!1),Mo(d,!0),c._paths==null)){let g=at;at!=c.alpha&&(h.globalAlpha=at=
c.alpha);let y=l==2?[0,e[d][0].length-1]:Jr(e[d]);c._paths=c.paths(s,d,y[0],y[1]),at!=g&&(h.globalAlpha=at=g)}}),
v.forEach((c,d)=>{if(d>0&&c.show){let g=at;at!=c.alpha&&(h.globalAlpha=at=c.alpha),c._paths!=null&&Ao(d,!1);{let y=c.
_paths!=null?c._paths.gaps:null,x=c.points.show(s,d,Ve,We,y),L=c.points.filter(s,d,x,y);(x||L)&&(c.points._paths=
c.points.paths(s,d,Ve,We,L),Ao(d,!0))}at!=g&&(h.globalAlpha=at=g),Ge("drawSeries",d)}}),r&&(h.globalAlpha=at=1)}}
function Mo(r,c){let d=c?v[r].points:v[r];d._stroke=d.stroke(s,r),d._fill=d.fill(s,r)}function Ao(r,c){let d=c?
v[r].points:v[r],{stroke:g,fill:y,clip:x,flags:L,_stroke:C=d._stroke,_fill:N=d._fill,_width:U=d.width}=d._paths;
U=ve(U*de,3);let H=null,V=U%2/2;c&&N==null&&(N=U>0?"#fff":C);let X=d.pxAlign==1&&V>0;if(X&&h.translate(V,V),!c){
let he=ft-U/2,ue=vt-U/2,ie=rt+U,J=_t+U;H=new Path2D,H.rect(he,ue,ie,J)}c?ml(C,U,d.dash,d.cap,N,g,y,L,x):Qr(r,C,
U,d.dash,d.cap,N,g,y,L,H,x),X&&h.translate(-V,-V)}function Qr(r,c,d,g,y,x,L,C,N,U,H){let V=!1;N!=0&&$.forEach(
(X,he)=>{if(X.series[0]==r){let ue=v[X.series[1]],ie=e[X.series[1]],J=(ue._paths||bs).band;nn(J)&&(J=X.dir==1?
J[0]:J[1]);let K,Me=null;ue.show&&J&&Ja(ie,Ve,We)?(Me=X.fill(s,he)||x,K=ue._paths.clip):J=null,ml(c,d,g,y,Me,L,
C,N,U,H,K,J),V=!0}}),V||ml(c,d,g,y,x,L,C,N,U,H)}let To=Zn|Jl;function ml(r,c,d,g,y,x,L,C,N,U,H,V){ko(r,c,d,g,y),
(N||U||V)&&(h.save(),N&&h.clip(N),U&&h.clip(U)),V?(C&To)==To?(h.clip(V),H&&h.clip(H),As(y,L),Ms(r,x,c)):C&Jl?(As(
y,L),h.clip(V),Ms(r,x,c)):C&Zn&&(h.save(),h.clip(V),H&&h.clip(H),As(y,L),h.restore(),Ms(r,x,c)):(As(y,L),Ms(r,
x,c)),(N||U||V)&&h.restore()}function Ms(r,c,d){d>0&&(c instanceof Map?c.forEach((g,y)=>{h.strokeStyle=Ss=y,h.
stroke(g)}):c!=null&&r&&h.stroke(c))}function As(r,c){c instanceof Map?c.forEach((d,g)=>{h.fillStyle=Pn=g,h.fill(
d)}):c!=null&&r&&h.fill(c)}function Xr(r,c,d,g){let y=A[r],x;if(g<=0)x=[0,0];else{let L=y._space=y.space(s,r,c,
d,g),C=y._incrs=y.incrs(s,r,c,d,g,L);x=bu(c,d,C,g,L)}return y._found=x}function dl(r,c,d,g,y,x,L,C,N,U){let H=L%
2/2;w==1&&h.translate(H,H),ko(C,L,N,U,C),h.beginPath();let V,X,he,ue,ie=y+(g==0||g==3?-x:x);d==0?(X=y,ue=ie):(V=
y,he=ie);for(let J=0;J<r.length;J++)c[J]!=null&&(d==0?V=he=r[J]:X=ue=r[J],h.moveTo(V,X),h.lineTo(he,ue));h.stroke(),
w==1&&h.translate(-H,-H)}function ea(r){let c=!0;return A.forEach((d,g)=>{if(!d.show)return;let y=T[d.scale];if(y.
min==null){d._show&&(c=!1,d._show=!1,Cn(!1));return}else d._show||(c=!1,d._show=!0,Cn(!1));let x=d.side,L=x%2,
{min:C,max:N}=y,[U,H]=Xr(g,C,N,L==0?ne:O);if(H==0)return;let V=y.distr==2,X=d._splits=d.splits(s,g,C,N,U,H,V),
he=y.distr==2?X.map(K=>Lt[K]):X,ue=y.distr==2?Lt[X[1]]-Lt[X[0]]:U,ie=d._values=d.values(s,d.filter(s,he,g,H,ue),
g,H,ue);d._rotate=x==2?d.rotate(s,ie,g,H):0;let J=d._size;d._size=Et(d.size(s,ie,g,r)),J!=null&&d._size!=J&&(c=
!1)}),c}function ta(r){let c=!0;return wo.forEach((d,g)=>{let y=d(s,g,fn,r);y!=qt[g]&&(c=!1),qt[g]=y}),c}function na(){
for(let r=0;r<A.length;r++){let c=A[r];if(!c.show||!c._show)continue;let d=c.side,g=d%2,y,x,L=c.stroke(s,r),C=d==
0||d==3?-1:1,[N,U]=c._found;if(c.label!=null){let lt=c.labelGap*C,dt=Fe((c._lpos+lt)*de);xo(c.labelFont[0],L,"\
center",d==2?"top":pi),h.save(),g==1?(y=x=0,h.translate(dt,Fe(vt+_t/2)),h.rotate((d==3?-Ws:Ws)/2)):(y=Fe(ft+rt/
2),x=dt);let dn=lr(c.label)?c.label(s,r,N,U):c.label;h.fillText(dn,y,x),h.restore()}if(U==0)continue;let H=T[c.
scale],V=g==0?rt:_t,X=g==0?ft:vt,he=c._splits,ue=H.distr==2?he.map(lt=>Lt[lt]):he,ie=H.distr==2?Lt[he[1]]-Lt[he[0]]:
N,J=c.ticks,K=c.border,Me=J.show?J.size:0,Le=Fe(Me*de),Ye=Fe((c.alignTo==2?c._size-Me-c.gap:c.gap)*de),ye=c._rotate*
-Ws/180,$e=_(c._pos*de),ht=(Le+Ye)*C,st=$e+ht;x=g==0?st:0,y=g==1?st:0;let St=c.font[0],$t=c.align==1?Gn:c.align==
2?Rl:ye>0?Gn:ye<0?Rl:g==0?"center":d==3?Rl:Gn,Ht=ye||g==1?"middle":d==2?"top":pi;xo(St,L,$t,Ht);let mt=c.font[1]*
c.lineGap,Mt=he.map(lt=>_(a(lt,H,V,X))),Pt=c._values;for(let lt=0;lt<Pt.length;lt++){let dt=Pt[lt];if(dt!=null){
g==0?y=Mt[lt]:x=Mt[lt],dt=""+dt;let dn=dt.indexOf(`
`)==-1?[dt]:dt.split(/\n/gm);for(let ot=0;ot<dn.length;ot++){let Go=dn[ot];ye?(h.save(),h.translate(y,x+ot*mt),
h.rotate(ye),h.fillText(Go,0,0),h.restore()):h.fillText(Go,y,x+ot*mt)}}}J.show&&dl(Mt,J.filter(s,ue,r,U,ie),g,
d,$e,Le,ve(J.width*de,3),J.stroke(s,r),J.dash,J.cap);let Ot=c.grid;Ot.show&&dl(Mt,Ot.filter(s,ue,r,U,ie),g,g==
0?2:1,g==0?vt:ft,g==0?_t:rt,ve(Ot.width*de,3),Ot.stroke(s,r),Ot.dash,Ot.cap),K.show&&dl([$e],[1],g==0?1:0,g==0?
1:2,g==1?vt:ft,g==1?_t:rt,ve(K.width*de,3),K.stroke(s,r),K.dash,K.cap)}Ge("drawAxes")}function Cn(r){v.forEach(
(c,d)=>{d>0&&(c._paths=null,r&&(l==1?(c.min=null,c.max=null):c.facets.forEach(g=>{g.min=null,g.max=null})))})}
let Ts=!1,pl=!1,ls=[];function sa(){pl=!1;for(let r=0;r<ls.length;r++)Ge(...ls[r]);ls.length=0}function Dn(){Ts||
(uc(Eo),Ts=!0)}function la(r,c=!1){Ts=!0,pl=c,r(s),Eo(),c&&ls.length>0&&queueMicrotask(sa)}s.batch=la;function Eo(){
if(nl&&(qr(),nl=!1),Tn&&(Wr(),Tn=!1),vs){if(Ae(S,Gn,ke),Ae(S,"top",ze),Ae(S,ms,ne),Ae(S,ds,O),Ae(M,Gn,ke),Ae(M,
"top",ze),Ae(M,ms,ne),Ae(M,ds,O),Ae(b,ms,Bt),Ae(b,ds,on),p.width=Fe(Bt*de),p.height=Fe(on*de),A.forEach(({_el:r,
_show:c,_size:d,_pos:g,side:y})=>{if(r!=null)if(c){let x=y===3||y===0?d:0,L=y%2==1;Ae(r,L?"left":"top",g-x),Ae(
r,L?"width":"height",d),Ae(r,L?"top":"left",L?ze:ke),Ae(r,L?"height":"width",L?O:ne),Gl(r,yn)}else gt(r,yn)}),
Ss=Pn=ol=rl=al=cl=ul=fl=il=null,at=1,rs(!0),ke!=An||ze!=rn||ne!=zt||O!=an){Cn(!1);let r=ne/zt,c=O/an;if(Te&&!cn&&
D.left>=0){D.left*=r,D.top*=c,Nn&&Wt(Nn,Fe(D.left),0,ne,O),zn&&Wt(zn,0,Fe(D.top),ne,O);for(let d=0;d<xt.length;d++){
let g=xt[d];g!=null&&(Ln[d]*=r,$n[d]*=c,Wt(g,Et(Ln[d]),Et($n[d]),ne,O))}}if(Se.show&&!ks&&Se.left>=0&&Se.width>
0){Se.left*=r,Se.width*=r,Se.top*=c,Se.height*=c;for(let d in kl)Ae(Un,d,Se[d])}An=ke,rn=ze,zt=ne,an=O}Ge("set\
Size"),vs=!1}Bt>0&&on>0&&(h.clearRect(0,0,p.width,p.height),Ge("drawClear"),z.forEach(r=>r()),Ge("draw")),Se.show&&
ks&&(Es(Se),ks=!1),Te&&cn&&(mn(null,!0,!1),cn=!1),ee.show&&ee.live&&kt&&(wl(),kt=!1),u||(u=!0,s.status=1,Ge("r\
eady")),ss=!1,Ts=!1}s.redraw=(r,c)=>{Tn=c||!1,r!==!1?Zt(k,P.min,P.max):Dn()};function gl(r,c){let d=T[r];if(d.
from==null){if(qe==0){let g=d.range(s,c.min,c.max,r);c.min=g[0],c.max=g[1]}if(c.min>c.max){let g=c.min;c.min=c.
max,c.max=g}if(qe>1&&c.min!=null&&c.max!=null&&c.max-c.min<1e-16)return;r==k&&d.distr==2&&qe>0&&(c.min=Dt(c.min,
e[0]),c.max=Dt(c.max,e[0]),c.min==c.max&&c.max++),G[r]=c,nl=!0,Dn()}}s.setScale=gl;let bl,yl,Nn,zn,_o,Lo,Rn,Fn,
$o,Po,xe,Ee,Jt=!1,Je=D.drag,Be=Je.x,Ie=Je.y;Te&&(D.x&&(bl=Tt(Na,M)),D.y&&(yl=Tt(za,M)),P.ori==0?(Nn=bl,zn=yl):
(Nn=yl,zn=bl),xe=D.left,Ee=D.top);let Se=s.select=Ne({show:!0,over:!0,left:0,width:0,top:0,height:0},n.select),
Un=Se.show?Tt(Da,Se.over?M:S):null;function Es(r,c){if(Se.show){for(let d in r)Se[d]=r[d],d in kl&&Ae(Un,d,r[d]);
c!==!1&&Ge("setSelect")}}s.setSelect=Es;function oa(r){if(v[r].show)Y&&Gl(ce[r],yn);else if(Y&&gt(ce[r],yn),Te){
let d=_n?xt[0]:xt[r];d!=null&&Wt(d,-10,-10,ne,O)}}function Zt(r,c,d){gl(r,{min:c,max:d})}function Ft(r,c,d,g){
c.focus!=null&&ua(r),c.show!=null&&v.forEach((y,x)=>{x>0&&(r==x||r==null)&&(y.show=c.show,oa(x),l==2?(Zt(y.facets[0].
scale,null,null),Zt(y.facets[1].scale,null,null)):Zt(y.scale,null,null),Dn())}),d!==!1&&Ge("setSeries",r,c),g&&
as("setSeries",s,r,c)}s.setSeries=Ft;function ia(r,c){Ne($[r],c)}function ra(r,c){r.fill=ae(r.fill||null),r.dir=
fe(r.dir,-1),c=c??$.length,$.splice(c,0,r)}function aa(r){r==null?$.length=0:$.splice(r,1)}s.addBand=ra,s.setBand=
ia,s.delBand=aa;function ca(r,c){v[r].alpha=c,Te&&xt[r]!=null&&(xt[r].style.opacity=c),Y&&ce[r]&&(ce[r].style.
opacity=c)}let It,Qt,hn,Hn={focus:!0};function ua(r){if(r!=hn){let c=r==null,d=Rt.alpha!=1;v.forEach((g,y)=>{if(l==
1||y>0){let x=c||y==0||y==r;g._focus=c?null:x,d&&ca(y,x?1:Rt.alpha)}}),hn=r,d&&Dn()}}Y&&En&&nt(wi,te,r=>{D._lock||
(un(r),hn!=null&&Ft(null,Hn,!0,Pe.setSeries))});function Ut(r,c,d){let g=T[c];d&&(r=r/de-(g.ori==1?ze:ke));let y=ne;
g.ori==1&&(y=O,r=y-r),g.dir==-1&&(r=y-r);let x=g._min,L=g._max,C=r/y,N=x+(L-x)*C,U=g.distr;return U==3?jn(10,N):
U==4?Qa(N,g.asinh):U==100?g.bwd(N):N}function fa(r,c){let d=Ut(r,k,c);return Dt(d,e[0],Ve,We)}s.valToIdx=r=>Dt(
r,e[0]),s.posToIdx=fa,s.posToVal=Ut,s.valToPos=(r,c,d)=>T[c].ori==0?i(r,T[c],d?rt:ne,d?ft:0):o(r,T[c],d?_t:O,d?
vt:0),s.setCursor=(r,c,d)=>{xe=r.left,Ee=r.top,mn(null,c,d)};function Co(r,c){Ae(Un,Gn,Se.left=r),Ae(Un,ms,Se.
width=c)}function Do(r,c){Ae(Un,"top",Se.top=r),Ae(Un,ds,Se.height=c)}let os=P.ori==0?Co:Do,is=P.ori==1?Co:Do;
function ha(){if(Y&&ee.live)for(let r=l==2?1:0;r<v.length;r++){if(r==0&&wt)continue;let c=ee.values[r],d=0;for(let g in c)
ct[r][d++].firstChild.nodeValue=c[g]}}function wl(r,c){if(r!=null&&(r.idxs?r.idxs.forEach((d,g)=>{oe[g]=d}):nc(
r.idx)||oe.fill(r.idx),ee.idx=oe[0]),Y&&ee.live){for(let d=0;d<v.length;d++)(d>0||l==1&&!wt)&&ma(d,oe[d]);ha()}
kt=!1,c!==!1&&Ge("setLegend")}s.setLegend=wl;function ma(r,c){let d=v[r],g=r==0&&Q==2?Lt:e[r],y;wt?y=d.values(
s,r,c)??jt:(y=d.value(s,c==null?null:g[c],r,c),y=y==null?jt:{_:y}),ee.values[r]=y}function mn(r,c,d){$o=xe,Po=
Ee,[xe,Ee]=D.move(s,xe,Ee),D.left=xe,D.top=Ee,Te&&(Nn&&Wt(Nn,Fe(xe),0,ne,O),zn&&Wt(zn,0,Fe(Ee),ne,O));let g,y=Ve>
We;It=we,Qt=null;let x=P.ori==0?ne:O,L=P.ori==1?ne:O;if(xe<0||qe==0||y){g=D.idx=null;for(let C=0;C<v.length;C++){
let N=xt[C];N!=null&&Wt(N,-10,-10,ne,O)}En&&Ft(null,Hn,!0,r==null&&Pe.setSeries),ee.live&&(oe.fill(g),kt=!0)}else{
let C,N,U;l==1&&(C=P.ori==0?xe:Ee,N=Ut(C,k),g=D.idx=Dt(N,e[0],Ve,We),U=B(e[0][g],P,x,0));let H=-10,V=-10,X=0,he=0,
ue=!0,ie="",J="";for(let K=l==2?1:0;K<v.length;K++){let Me=v[K],Le=oe[K],Ye=Le==null?null:l==1?e[K][Le]:e[K][1][Le],
ye=D.dataIdx(s,K,g,N),$e=ye==null?null:l==1?e[K][ye]:e[K][1][ye];if(kt=kt||$e!=Ye||ye!=Le,oe[K]=ye,K>0&&Me.show){
let ht=ye==null?-10:ye==g?U:B(l==1?e[0][ye]:e[K][0][ye],P,x,0),st=$e==null?-10:q($e,l==1?T[Me.scale]:T[Me.facets[1].
scale],L,0);if(En&&$e!=null){let St=P.ori==1?xe:Ee,$t=Ue(Rt.dist(s,K,ye,st,St));if($t<It){let Ht=Rt.bias;if(Ht!=
0){let mt=Ut(St,Me.scale),Mt=$e>=0?1:-1,Pt=mt>=0?1:-1;Pt==Mt&&(Pt==1?Ht==1?$e>=mt:$e<=mt:Ht==1?$e<=mt:$e>=mt)&&
(It=$t,Qt=K)}else It=$t,Qt=K}}if(kt||_n){let St,$t;P.ori==0?(St=ht,$t=st):(St=st,$t=ht);let Ht,mt,Mt,Pt,Ot,lt,
dt=!0,dn=et.bbox;if(dn!=null){dt=!1;let ot=dn(s,K);Mt=ot.left,Pt=ot.top,Ht=ot.width,mt=ot.height}else Mt=St,Pt=
$t,Ht=mt=et.size(s,K);if(lt=et.fill(s,K),Ot=et.stroke(s,K),_n)K==Qt&&It<=Rt.prox&&(H=Mt,V=Pt,X=Ht,he=mt,ue=dt,
ie=lt,J=Ot);else{let ot=xt[K];ot!=null&&(Ln[K]=Mt,$n[K]=Pt,Ti(ot,Ht,mt,dt),Mi(ot,lt,Ot),Wt(ot,Et(Mt),Et(Pt),ne,
O))}}}}if(_n){let K=Rt.prox,Me=hn==null?It<=K:It>K||Qt!=hn;if(kt||Me){let Le=xt[0];Le!=null&&(Ln[0]=H,$n[0]=V,
Ti(Le,X,he,ue),Mi(Le,ie,J),Wt(Le,Et(H),Et(V),ne,O))}}}if(Se.show&&Jt)if(r!=null){let[C,N]=Pe.scales,[U,H]=Pe.match,
[V,X]=r.cursor.sync.scales,he=r.cursor.drag;if(Be=he._x,Ie=he._y,Be||Ie){let{left:ue,top:ie,width:J,height:K}=r.
select,Me=r.scales[V].ori,Le=r.posToVal,Ye,ye,$e,ht,st,St=C!=null&&U(C,V),$t=N!=null&&H(N,X);St&&Be?(Me==0?(Ye=
ue,ye=J):(Ye=ie,ye=K),$e=T[C],ht=B(Le(Ye,V),$e,x,0),st=B(Le(Ye+ye,V),$e,x,0),os(Nt(ht,st),Ue(st-ht))):os(0,x),
$t&&Ie?(Me==1?(Ye=ue,ye=J):(Ye=ie,ye=K),$e=T[N],ht=q(Le(Ye,X),$e,L,0),st=q(Le(Ye+ye,X),$e,L,0),is(Nt(ht,st),Ue(
st-ht))):is(0,L)}else xl()}else{let C=Ue($o-_o),N=Ue(Po-Lo);if(P.ori==1){let X=C;C=N,N=X}Be=Je.x&&C>=Je.dist,Ie=
Je.y&&N>=Je.dist;let U=Je.uni;U!=null?Be&&Ie&&(Be=C>=U,Ie=N>=U,!Be&&!Ie&&(N>C?Ie=!0:Be=!0)):Je.x&&Je.y&&(Be||Ie)&&
(Be=Ie=!0);let H,V;Be&&(P.ori==0?(H=Rn,V=xe):(H=Fn,V=Ee),os(Nt(H,V),Ue(V-H)),Ie||is(0,L)),Ie&&(P.ori==1?(H=Rn,
V=xe):(H=Fn,V=Ee),is(Nt(H,V),Ue(V-H)),Be||os(0,x)),!Be&&!Ie&&(os(0,0),is(0,0))}if(Je._x=Be,Je._y=Ie,r==null){if(d){
if(Io!=null){let[C,N]=Pe.scales;Pe.values[0]=C!=null?Ut(P.ori==0?xe:Ee,C):null,Pe.values[1]=N!=null?Ut(P.ori==
1?xe:Ee,N):null}as(Fl,s,xe,Ee,ne,O,g)}if(En){let C=d&&Pe.setSeries,N=Rt.prox;hn==null?It<=N&&Ft(Qt,Hn,!0,C):It>
N?Ft(null,Hn,!0,C):Qt!=hn&&Ft(Qt,Hn,!0,C)}}kt&&(ee.idx=g,wl()),c!==!1&&Ge("setCursor")}let Xt=null;Object.defineProperty(
s,"rect",{get(){return Xt==null&&rs(!1),Xt}});function rs(r=!1){r?Xt=null:(Xt=M.getBoundingClientRect(),Ge("sy\
ncRect",Xt))}function No(r,c,d,g,y,x,L){D._lock||Jt&&r!=null&&r.movementX==0&&r.movementY==0||(vl(r,c,d,g,y,x,
L,!1,r!=null),r!=null?mn(null,!0,!0):mn(c,!0,!1))}function vl(r,c,d,g,y,x,L,C,N){if(Xt==null&&rs(!1),un(r),r!=
null)d=r.clientX-Xt.left,g=r.clientY-Xt.top;else{if(d<0||g<0){xe=-10,Ee=-10;return}let[U,H]=Pe.scales,V=c.cursor.
sync,[X,he]=V.values,[ue,ie]=V.scales,[J,K]=Pe.match,Me=c.axes[0].side%2==1,Le=P.ori==0?ne:O,Ye=P.ori==1?ne:O,
ye=Me?x:y,$e=Me?y:x,ht=Me?g:d,st=Me?d:g;if(ue!=null?d=J(U,ue)?a(X,T[U],Le,0):-10:d=Le*(ht/ye),ie!=null?g=K(H,ie)?
a(he,T[H],Ye,0):-10:g=Ye*(st/$e),P.ori==1){let St=d;d=g,g=St}}N&&(c==null||c.cursor.event.type==Fl)&&((d<=1||d>=
ne-1)&&(d=gn(d,ne)),(g<=1||g>=O-1)&&(g=gn(g,O))),C?(_o=d,Lo=g,[Rn,Fn]=D.move(s,d,g)):(xe=d,Ee=g)}let kl={width:0,
height:0,left:0,top:0};function xl(){Es(kl,!1)}let zo,Ro,Fo,Uo;function Ho(r,c,d,g,y,x,L){Jt=!0,Be=Ie=Je._x=Je.
_y=!1,vl(r,c,d,g,y,x,L,!0,!1),r!=null&&(nt(Ul,Bl,Oo,!1),as(bi,s,Rn,Fn,ne,O,null));let{left:C,top:N,width:U,height:H}=Se;
zo=C,Ro=N,Fo=U,Uo=H}function Oo(r,c,d,g,y,x,L){Jt=Je._x=Je._y=!1,vl(r,c,d,g,y,x,L,!1,!0);let{left:C,top:N,width:U,
height:H}=Se,V=U>0||H>0,X=zo!=C||Ro!=N||Fo!=U||Uo!=H;if(V&&X&&Es(Se),Je.setScale&&V&&X){let he=C,ue=U,ie=N,J=H;
if(P.ori==1&&(he=N,ue=H,ie=C,J=U),Be&&Zt(k,Ut(he,k),Ut(he+ue,k)),Ie)for(let K in T){let Me=T[K];K!=k&&Me.from==
null&&Me.min!=we&&Zt(K,Ut(ie+J,K),Ut(ie,K))}xl()}else D.lock&&(D._lock=!D._lock,mn(c,!0,r!=null));r!=null&&(Mn(
Ul,Bl),as(Ul,s,xe,Ee,ne,O,null))}function da(r,c,d,g,y,x,L){if(D._lock)return;un(r);let C=Jt;if(Jt){let N=!0,U=!0,
H=10,V,X;P.ori==0?(V=Be,X=Ie):(V=Ie,X=Be),V&&X&&(N=xe<=H||xe>=ne-H,U=Ee<=H||Ee>=O-H),V&&N&&(xe=xe<Rn?0:ne),X&&
U&&(Ee=Ee<Fn?0:O),mn(null,!0,!0),Jt=!1}xe=-10,Ee=-10,oe.fill(null),mn(null,!0,!0),C&&(Jt=C)}function Vo(r,c,d,g,y,x,L){
D._lock||(un(r),ll(),xl(),r!=null&&as(vi,s,xe,Ee,ne,O,null))}function Wo(){A.forEach(yu),sl(s.width,s.height,!0)}
wn(Bs,Kn,Wo);let On={};On.mousedown=Ho,On.mousemove=No,On.mouseup=Oo,On.dblclick=Vo,On.setSeries=(r,c,d,g)=>{let y=Pe.
match[2];d=y(s,c,d),d!=-1&&Ft(d,g,!0,!1)},Te&&(nt(bi,M,Ho),nt(Fl,M,No),nt(yi,M,r=>{un(r),rs(!1)}),nt(wi,M,da),
nt(vi,M,Vo),Zl.add(s),s.syncRect=rs);let _s=s.hooks=n.hooks||{};function Ge(r,c,d){pl?ls.push([r,c,d]):r in _s&&
_s[r].forEach(g=>{g.call(null,s,c,d)})}(n.plugins||[]).forEach(r=>{for(let c in r.hooks)_s[c]=(_s[c]||[]).concat(
r.hooks[c])});let Bo=(r,c,d)=>d,Pe=Ne({key:null,setSeries:!1,filters:{pub:Pi,sub:Pi},scales:[k,v[1]?v[1].scale:
null],match:[Ci,Ci,Bo],values:[null,null]},D.sync);Pe.match.length==2&&Pe.match.push(Bo),D.sync=Pe;let Io=Pe.key,
Sl=_r(Io);function as(r,c,d,g,y,x,L){Pe.filters.pub(r,c,d,g,y,x,L)&&Sl.pub(r,c,d,g,y,x,L)}Sl.sub(s);function pa(r,c,d,g,y,x,L){
Pe.filters.sub(r,c,d,g,y,x,L)&&On[r](null,c,d,g,y,x,L)}s.pub=pa;function ga(){Sl.unsub(s),Zl.delete(s),ln.clear(),
Yl(Bs,Kn,Wo),f.remove(),te?.remove(),Ge("destroy")}s.destroy=ga;function Ml(){Ge("init",n,e),vo(e||n.data,!1),
G[k]?gl(k,G[k]):ll(),ks=Se.show&&(Se.width>0||Se.height>0),cn=kt=!0,sl(n.width,n.height)}return v.forEach(yo),
A.forEach(jr),t?t instanceof HTMLElement?(t.appendChild(f),Ml()):t(s,Ml):Ml(),s}He.assign=Ne;He.fmtNum=lo;He.rangeNum=
Is;He.rangeLog=Ks;He.rangeAsinh=no;He.orient=kn;He.pxRatio=de;He.join=cc;He.fmtDate=io,He.tzDate=vc;He.sync=_r;
{He.addGap=nu,He.clipGaps=Js;let n=He.paths={points:Nr};n.linear=Rr,n.stepped=ou,n.bars=iu,n.spline=au}function wu(n,e,t,s){let{model:l}=n,i=l.column("time"),o=n.inUse(),a=l.momentOf(e-1),u=l.momentOf(t),f=[e/1e9],
p=[a===0?0:o[a-1]],h=s/Math.max(1,t-e),b=S=>{f.push(i[S]/1e9),p.push(o[S])};for(let S=a;S<u;){let M=Math.floor(
(i[S]-e)*h),w=S,[_,E]=[S,S];for(;S<u&&Math.floor((i[S]-e)*h)===M;S++)o[S]<o[_]&&(_=S),o[S]>o[E]&&(E=S);let v=[
...new Set([w,Math.min(_,E),Math.max(_,E),S-1])];for(let A of v)b(A)}return f.push(t/1e9),p.push(u===0?0:o[u-1]),
[f,p]}var el=class{constructor(e){this.state=e;this.element.setAttribute("aria-label","Bytes in use over time.\
 Arrow keys go to the previous and next change, plus and minus zoom."),this.element.append(this.place,this.note),
this.element.addEventListener("keydown",t=>this.key(t)),this.whole(),new ResizeObserver(()=>this.resize()).observe(
this.element)}state;element=m("div",{class:"timeline",tabindex:0,role:"application"});note=m("div",{class:"not\
e","aria-live":"polite"});place=m("div",{});plot=null;from=0;to=0;space=NaN;whole(){let{model:e}=this.state,t=[
...e.tables.marks,...e.tables.refusals].map(o=>o.time),[s,l]=[e.steps?e.column("time")[0]:0,e.timeAt(e.steps)];
this.from=t.reduce((o,a)=>Math.min(o,a),e.steps?s:t[0]??0),this.to=Math.max(this.from+(e.steps>1?1e3:1e5),t.reduce(
(o,a)=>Math.max(o,a),l));let i=(this.to-this.from)/100;this.from=Math.max(0,this.from-i),this.to+=i}resize(){let e=this.
element.clientWidth;this.plot&&e>0&&Math.abs(this.plot.width-e)>1&&this.draw()}zoom(e,t){t-e<1e3&&(t=e+1e3),[this.
from,this.to]=[Math.max(0,e),t],this.data()}key(e){let t=e.shiftKey?100:1,s=this.state.model.timeAt(this.state.
at),l=this.to-this.from;switch(e.key){case"ArrowLeft":case"ArrowRight":this.state.setMoment(this.state.neighbour(
e.key==="ArrowRight",t));break;case"+":case"=":this.zoom(s-l/4,s+l/4);break;case"-":this.zoom(s-l,s+l);break;case"\
0":this.whole(),this.data();break;default:return}e.preventDefault(),e.stopPropagation()}data(){let e=this.plot?.
width??800,[t,s]=wu(this.state,this.from,this.to,e);this.plot?.setData([t,s],!1),this.plot?.setScale("x",{min:this.
from/1e9,max:this.to/1e9});let l=s.reduce((i,o)=>Math.max(i,o),512);this.plot?.setScale("y",{min:0,max:l*1.12})}update(){
this.plot?this.space!==this.state.space?(this.space=this.state.space,this.data()):this.plot.redraw(!1):this.draw()}draw(){
this.plot?.destroy(),this.space=this.state.space;let e={stroke:me("--soft"),grid:{stroke:me("--line"),width:1},
ticks:{stroke:me("--line"),width:1}},t="12px system-ui, sans-serif",s={width:Math.max(200,this.element.clientWidth),
height:190,legend:{show:!1},scales:{x:{time:!1,auto:!1},y:{auto:!1}},axes:[{...e,font:t,values:(l,i)=>i.map(o=>`${+o.
toFixed(9)} s`),size:34,space:90},{...e,font:t,size:72,splits:l=>vu(l.scales.y.max??1),values:(l,i)=>i.map(j)}],
series:[{},{stroke:me("--accent"),fill:me("--accent-fill"),width:1.5,paths:He.paths.stepped({align:1}),points:{
show:!1}}],cursor:{y:!1,points:{show:!1},drag:{x:!0,y:!1,setScale:!1}},hooks:{draw:[l=>this.signs(l)],setCursor:[
l=>this.say(l)],setSelect:[l=>{let{left:i,width:o}=l.select;o>2&&this.zoom(l.posToVal(i,"x")*1e9,l.posToVal(i+
o,"x")*1e9),l.setSelect({left:0,top:0,width:0,height:0},!1)}],ready:[l=>{let i=0;l.over.addEventListener("mous\
edown",o=>i=o.clientX),l.over.addEventListener("mouseup",o=>{if(Math.abs(o.clientX-i)>2)return;let a=l.posToVal(
o.clientX-l.over.getBoundingClientRect().left,"x")*1e9;this.state.setMoment(this.near(l,a))}),l.over.addEventListener(
"dblclick",()=>{this.whole(),this.data()}),l.over.addEventListener("mouseleave",()=>this.rest())}]}};re(this.place),
this.plot=new He(s,[[0],[0]],this.place),this.data(),this.rest()}near(e,t){let{model:s}=this.state,l=e.valToPos(
t/1e9,"x");for(let i of this.state.names()){let o=i.of(this.state.space);if(Math.abs(e.valToPos(s.timeAt(o)/1e9,
"x")-l)<=5)return o}return s.momentOf(t)}rest(){re(this.note,"Click for a moment, drag to zoom, double click f\
or all.")}say(e){let{left:t}=e.cursor;if(t==null||t<0)return;let s=e.posToVal(t,"x")*1e9,l=this.state.model.momentOf(
s);re(this.note,`${Ze(Math.max(0,s))}: ${j(this.state.inUseAt(l))} in use`)}signs(e){let{ctx:t,bbox:s}=e,{state:l}=this,
{model:i}=l,o=He.pxRatio,[a,u]=[s.top,s.top+s.height],f=E=>e.valToPos(E/1e9,"x",!0),p=E=>E>=s.left-1&&E<=s.left+
s.width+1;t.save(),t.lineWidth=o,t.font=`${11*o}px system-ui, sans-serif`,t.textAlign="left",t.textBaseline="a\
lphabetic";let h=e.valToPos(l.capacity(),"y",!0);h>=a&&(t.strokeStyle=me("--bad"),t.setLineDash([6*o,4*o]),t.beginPath(),
t.moveTo(s.left,h),t.lineTo(s.left+s.width,h),t.stroke(),t.setLineDash([]));let b=-1/0;for(let E of i.tables.marks){
let v=f(E.time);if(!p(v))continue;t.strokeStyle=t.fillStyle=me("--mark"),t.setLineDash([3*o,3*o]),t.beginPath(),
t.moveTo(v,a),t.lineTo(v,u),t.stroke(),t.setLineDash([]);let A=E.name.length>18?E.name.slice(0,17)+"\u2026":E.
name,T=t.measureText(A).width+8*o;v>b&&v+T<s.left+s.width&&(t.fillText(A,v+4*o,a+11*o),b=v+T)}let S=l.chosen();
t.strokeStyle=me("--bad"),t.lineWidth=2*o;for(let E of i.tables.refusals){let v=f(E.time);if(!S[E.space]||!p(v))
continue;let[A,T]=[a+22*o,5*o];t.beginPath(),t.moveTo(v-T,A-T),t.lineTo(v+T,A+T),t.moveTo(v+T,A-T),t.lineTo(v-
T,A+T),t.stroke()}let M=l.byName("peak").of(l.space),w=f(i.timeAt(M));if(p(w)&&M>0){let E=e.valToPos(l.inUseAt(
M),"y",!0);t.fillStyle=me("--accent"),t.beginPath(),t.moveTo(w,E-2*o),t.lineTo(w-5*o,E-10*o),t.lineTo(w+5*o,E-
10*o),t.fill()}let _=f(i.timeAt(l.at));p(_)&&(t.strokeStyle=t.fillStyle=me("--ink"),t.lineWidth=1.5*o,t.beginPath(),
t.moveTo(_,a),t.lineTo(_,u),t.stroke(),t.beginPath(),t.arc(_,e.valToPos(l.inUseAt(l.at),"y",!0),3.5*o,0,7),t.fill()),
t.restore()}};function vu(n){let e=2**Math.floor(Math.log2(Math.max(4,n)));for(;n/e<3;)e/=2;let t=[];for(let s=0;s<=
n;s+=e)t.push(s);return t}function Or(n){let{model:e}=n,{spaces:t}=e.tables,s=160,l=new Float64Array(t.length*
s),i=new Float64Array(t.length),[o,a]=[e.column("space"),e.column("size")],u=e.column("time"),[f,p]=[e.steps?u[0]:
0,e.timeAt(e.steps)],h=(s-1)/Math.max(1,p-f);for(let E=0;E<e.steps;E++){let v=e.of[E];if(v===4294967295)continue;
let A=o[v];i[A]+=e.begin[v]===E?a[v]:-a[v];let T=A*s+Math.floor((u[E]-f)*h);l[T]=Math.max(l[T],i[A],1e-9)}let b=t.
reduce((E,v)=>Math.max(E,v.peak),1),S=n.used.map(E=>{let v=t[E],A=e.tables.refusals.filter(z=>z.space===E).length,
T=m("canvas",{class:"spark","aria-hidden":"true"});[T.width,T.height]=[s,22];let $=T.getContext("2d");$.fillStyle=
me("--accent");let k=0;for(let z=0;z<s;z++){k=l[E*s+z]>0?l[E*s+z]:k;let F=k/b*20;$.fillRect(z,22-F,1,F)}let R=m(
"button",{class:"plain",onclick:()=>n.setSpace(E)},v.name);return m("tr",{class:n.space===E?"chosen":void 0},m(
"td",{},R),m("td",{},T),m("td",{class:"number"},j(v.peak)),m("td",{class:"number"},j(n.model.tables.is_snapshot?
0:ku(n,E))),m("td",{class:"number"},j(v.capacity)),m("td",{class:"number"},A?`\u2715 ${A}`:""))}),M=["Memory",
"In use","Peak","End","Capacity","Refused"].map((E,v)=>m("th",{class:v>1?"number":void 0},E)),w=m("button",{class:"\
plain",onclick:()=>n.setSpace(De)},"all devices"),_=n.used.filter(E=>t[E].device!==null).length;return m("div",
{class:"overview",tabindex:0,role:"region","aria-label":"Memories"},m("table",{},m("thead",{},m("tr",{},...M)),
m("tbody",{},_>1&&m("tr",{class:n.space===De?"chosen":void 0},m("td",{colspan:6},w)),...S)))}var mo=new Map;function ku(n,e){
if(mo.size===0){let{model:t}=n,[s,l]=[t.column("space"),t.column("size")],{spaces:i}=t.tables,o=new Float64Array(
i.length);for(let a=0;a<t.allocations;a++){let u=i[s[a]].end_at;t.begin[a]<u&&t.end[a]>=u&&(o[s[a]]+=l[a])}o.forEach(
(a,u)=>mo.set(u,a))}return mo.get(e)??0}var xu=[["1 \u2026 9","views"],["p, e, l","peak, end, last change"],["m, M","next mark, previous mark"],["o","\
next refusal"],["\u2190 \u2192","previous and next change, with Shift a hundred"],["d, D","next memory, previo\
us memory"],["/","search"],["t","light or dark"],["Escape","closes what is open"],["?","this list"]];function tl(n,e){
try{return e!==void 0&&localStorage.setItem(`tpu-emu-${n}`,e),localStorage.getItem(`tpu-emu-${n}`)}catch{return null}}
var po=class{constructor(e){this.model=e;this.state=new Rs(e),this.drawer=new Ds(e);let t=El(e).map(([o])=>o),
s=tl("editor");_l(s!==null&&t.includes(s)&&e.tables.editor==="file"?s:e.tables.editor),this.timeline=new el(this.
state);let{state:l,drawer:i}=this;this.views=[li(l,i),oi(l,i),ii(l,i),ri(l,i),hi(l,i),ai(l,i),ci(l,i),ui(l,i),
mi(l,i)]}model;state;drawer;timeline;views;cards=m("div",{class:"cards"});controls=m("div",{class:"bar control\
s"});memories=m("div",{});tabs=m("div",{class:"tabs",role:"tablist","aria-label":"Views"});panel=m("main",{role:"\
tabpanel",id:"panel",tabindex:-1});start(){let e=document.getElementById("app"),{tables:t}=this.model;document.
title=`${t.file.split("/").pop()} \u2013 tpu-emu`,re(e,this.head(),...this.careful(),this.controls,this.cards,
this.timeline.element,this.memories,this.tabs,this.panel,this.drawer.element),this.fromAddress(),this.state.listen(
l=>{l==="moment"&&this.moment(),this.show(),this.toAddress()}),document.addEventListener("keydown",l=>this.key(
l)),window.addEventListener("hashchange",()=>this.fromAddress()),matchMedia("(prefers-color-scheme: dark)").addEventListener(
"change",()=>this.redraw());let s=innerWidth;window.addEventListener("resize",()=>{s!==innerWidth&&this.show(),
s=innerWidth}),this.moment(),this.show(),setTimeout(()=>ni(this.model),200)}head(){let{tables:e}=this.model,t=m(
"button",{id:"theme",onclick:()=>this.theme(),title:"t"},"Light / dark"),s=m("button",{id:"help",onclick:()=>this.
help(),title:"?"},"Keys"),l=pt("Open files with",El(this.model),Jo(),u=>{_l(u),tl("editor",u),this.show()}),i=new Date(
e.started/1e6),o=Number.isNaN(i.getTime())?"":`, ${i.toISOString().replace("T"," ").slice(0,19)} UTC`,a=e.is_snapshot?
"snapshot":"trace";return m("header",{},m("div",{},m("h1",{},e.file.split("/").pop()||"trace"),m("p",{class:"s\
oft"},`${a} of process ${e.process}${o}; ${e.topology}; tpu-emu ${e.version}, format ${e.format.join(".")}; ${ge(
this.model.steps,"change")}`)),m("div",{class:"bar"},l,t,s))}careful(){return this.model.tables.cut.map(e=>m("\
p",{class:"careful",role:"alert"},m("b",{},"Careful: "),`${e}.`))}moment(){let{state:e,model:t}=this,{spaces:s,
marks:l,refusals:i}=t.tables,o=e.used.map(p=>[String(p),s[p].name]);e.used.filter(p=>s[p].device!==null).length>
1&&o.unshift([String(De),"all devices"]),o.length===0&&o.push([String(e.space),e.space===De?"no memory":e.name()]);
let a=(p,h)=>m("button",{"aria-pressed":String(e.named===p),onclick:()=>e.setNamed(p),id:`at-${p}`},h),u=[["",
"\u2013"],...e.names().slice(3).map(({name:p,text:h})=>[p,h])],f=document.activeElement?.id;if(re(this.controls,
pt("Memory",o,String(e.space),p=>e.setSpace(Number(p))),m("span",{class:"group"},a("peak","Peak"),a("end","End"),
a("last","Last change")),l.length+i.length>0&&pt("Go to",u,u.some(([p])=>p===e.named)?e.named:"",p=>p&&e.setNamed(
p)),m("span",{class:"group"},m("button",{"aria-label":"Previous change",onclick:()=>e.setMoment(e.neighbour(!1,
1)),id:"step-back"},"\u25C0"),m("span",{id:"moment","data-at":e.at,"aria-live":"polite"},`${Ze(t.timeAt(e.at))}\
, after change ${Re(e.at)}`),m("button",{"aria-label":"Next change",onclick:()=>e.setMoment(e.neighbour(!0,1)),
id:"step-on"},"\u25B6"))),f&&document.getElementById(f)?.focus({preventScroll:!0}),this.card(),e.used.length>1){
let p=this.memories.firstElementChild?.scrollTop??0;re(this.memories,Or(e)),this.memories.firstElementChild.scrollTop=
p}this.timeline.update()}card(){let{state:e,model:t}=this,s=e.capacity(),l=e.space===De?null:t.tables.spaces[e.
space]?.usage,i=(h,b,S,M)=>m("div",{class:"card",id:`card-${h}`,"data-bytes":S},m("h2",{},b),m("p",{class:"siz\
e",title:Ce(S)},j(S)),m("p",{class:"soft"},M)),o=h=>e.byName(h).of(e.space),[a,u]=[o("peak"),o("end")],f=h=>`${en(
h,s)} of the capacity`,p=l?l[1]:e.inUseAt(a);re(this.cards,i("peak","Peak",p,l?f(p):`${f(p)}, at ${Ze(t.timeAt(
a))}`),i("end",l?"In use":"End",e.inUseAt(u),l?"when the snapshot was taken":u<t.steps?"before the client's cl\
ean-up":"behind the last change"),i("now","Chosen moment",e.inUseAt(e.at),f(e.inUseAt(e.at))),i("capacity","Ca\
pacity",s,e.space===De?"of all devices":e.name()))}show(){tt.hide();let{state:e}=this,t=this.model.tables.refusals.
length,s=this.tabs.contains(document.activeElement);re(this.tabs,...this.views.map((i,o)=>{let a=i.name===e.view,
u=i.name==="refusals"&&t?` (${Re(t)})`:"";return m("button",{role:"tab",id:`tab-${i.name}`,"aria-selected":String(
a),"aria-controls":"panel",tabindex:a?0:-1,title:String(o+1),onclick:()=>e.setView(i.name)},i.title+u)}));let l=this.
views.find(i=>i.name===e.view)??this.views[0];this.panel.setAttribute("aria-labelledby",`tab-${l.name}`),this.
panel.firstElementChild!==l.element&&this.panel.replaceChildren(l.element),l.show(),s&&document.getElementById(
`tab-${l.name}`)?.focus({preventScroll:!0})}redraw(){this.timeline.draw(),this.moment(),this.show()}theme(){let e=document.
documentElement,t=e.dataset.theme?e.dataset.theme==="dark":matchMedia("(prefers-color-scheme: dark)").matches;
e.dataset.theme=t?"light":"dark",tl("theme",e.dataset.theme),this.redraw()}help(){let e=m("dialog",{class:"hel\
p"}),t=xu.map(([s,l])=>m("tr",{},m("th",{},m("kbd",{},s)),m("td",{},l)));Qe(e,m("h2",{},"Keys"),m("table",{},...t),
m("button",{onclick:()=>e.close()},"Close")),e.addEventListener("close",()=>e.remove()),document.body.append(e),
e.showModal()}next(e,t){let{state:s}=this,l=s.names().filter(({name:a})=>a.startsWith(e));if(l.length===0)return;
let i=l.findIndex(({name:a})=>a===s.named),o=i<0?t?0:l.length-1:(i+(t?1:l.length-1))%l.length;s.setNamed(l[o].
name)}key(e){let t=e.target;if(e.ctrlKey||e.metaKey||e.altKey||document.querySelector("dialog[open]"))return;if(e.
key==="Escape")return t instanceof HTMLInputElement?t.blur():this.drawer.close();if(t instanceof HTMLInputElement||
t instanceof HTMLSelectElement)return;let{state:s}=this,{key:l}=e,i=t.getAttribute("role")==="tab";if(/^[1-9]$/.
test(l)&&this.views[Number(l)-1])s.setView(this.views[Number(l)-1].name);else if(i&&(l==="ArrowLeft"||l==="Arr\
owRight")){let o=this.views.findIndex(a=>a.name===s.view);s.setView(this.views[(o+(l==="ArrowRight"?1:this.views.
length-1))%this.views.length].name)}else if(l==="p")s.setNamed("peak");else if(l==="e")s.setNamed("end");else if(l===
"l")s.setNamed("last");else if(l==="m"||l==="M")this.next("mark-",l==="m");else if(l==="o"||l==="O")this.next(
"refusal-",l==="o");else if(l==="d"||l==="D"){let o=[...s.used.length>1?[De]:[],...s.used],a=o.indexOf(s.space);
o.length&&s.setSpace(o[(a+(l==="d"?1:o.length-1))%o.length])}else if((l==="ArrowLeft"||l==="ArrowRight")&&!(t instanceof
HTMLCanvasElement))s.setMoment(s.neighbour(l==="ArrowRight",e.shiftKey?100:1));else if(l==="/")this.panel.querySelector(
"input[type=search]")?.focus();else if(l==="t")this.theme();else if(l==="?")this.help();else return;e.preventDefault()}toAddress(){
let{state:e}=this,t=e.named??String(e.at);history.replaceState(null,"",`#view=${e.view}&memory=${e.space}&at=${t}`)}fromAddress(){
let e=new URLSearchParams(location.hash.slice(1)),{state:t}=this,s=Number(e.get("memory")??NaN);e.has("memory")&&
(s===De||this.model.tables.spaces[s])&&t.setSpace(s);let l=e.get("at");l!==null&&/^\d+$/.test(l)?t.setMoment(Number(
l)):l!==null&&t.setNamed(l);let i=e.get("view");i!==null&&this.views.some(({name:o})=>o===i)&&t.setView(i)}};async function Su(){
let n=tl("theme");(n==="light"||n==="dark")&&(document.documentElement.dataset.theme=n);try{if(typeof DecompressionStream>
"u")throw new Error("this browser has no DecompressionStream; those since 2023 have it");new po(await $s.read()).
start(),document.documentElement.dataset.ready="true"}catch(e){throw re(document.getElementById("app"),m("p",{
class:"careful"},`The report cannot be shown: ${e instanceof Error?e.message:String(e)}`)),e}}Su();})();
