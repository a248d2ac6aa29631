"use strict";(()=>{var Io=["KiB","MiB","GiB","TiB","PiB","EiB"];function q(n){if(n<0)return"-"+q(-n);let e=-1,t=n;for(;t>=1024&&e<
Io.length-1;)t/=1024,e+=1;if(e<0)return`${Math.round(n)} B`;let s=Math.round(t*100)<1e3?2:Math.round(t*10)<1e3?
1:0;return`${t.toFixed(s)} ${Io[e]}`}function Ue(n){return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g,",")}
function pe(n,e){return`${Ue(n)} ${e}${n===1?"":"s"}`}function Ce(n){return pe(n,"byte")}function Je(n){return`${Math.
floor(n/1e9)}.${String(Math.floor(n%1e9/1e3)).padStart(6,"0")} s`}function Gt(n){return n<1e3?`${Math.round(n)}\
 ns`:n<1e6?`${(n/1e3).toPrecision(3)} \xB5s`:n<1e9?`${(n/1e6).toPrecision(3)} ms`:`${(n/1e9).toPrecision(4)} s`}
function en(n,e){return e>0?`${(Math.floor(n*1e3/e)/10).toFixed(1)} %`:"\u2013"}function St(n){return"0x"+n.toString(
16)}function _s(n){return n.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g," ")}function m(n,e={},...t){let s=document.createElement(n);for(let[l,i]of Object.entries(e))i===void 0||i===!1||(typeof i==
"function"?s.addEventListener(l.slice(2),i):s.setAttribute(l,i===!0?"":String(i)));return Ze(s,...t),s}function Ze(n,...e){
for(let t of e)t==null||t===!1||n.append(typeof t=="string"?_s(t):t)}function oe(n,...e){n.replaceChildren(),Ze(
n,...e)}function mt(n,e,t,s){let l=m("select",{"aria-label":n,onchange:()=>s(l.value)});for(let[i,o]of e)Ze(l,
m("option",{value:i,selected:i===t},o));return l.value=t,m("label",{class:"choice"},m("span",{},n),l)}function Vn(n,e,t){
let s=window.devicePixelRatio||1,l=m("canvas",{role:"img","aria-label":t,tabindex:0});l.width=Math.max(1,Math.
round(n*s)),l.height=Math.max(1,Math.round(e*s)),l.style.width=`${n}px`,l.style.height=`${e}px`;let i=l.getContext(
"2d");return i.scale(s,s),[l,i]}function me(n){return getComputedStyle(document.documentElement).getPropertyValue(
n).trim()}var Ml=class{box=m("div",{class:"tip",role:"tooltip",hidden:!0});show(e,...t){this.box.isConnected||
document.body.append(this.box),oe(this.box,...t.map(c=>m("div",{},c))),this.box.hidden=!1;let{offsetWidth:s,offsetHeight:l}=this.
box,i=e.clientX+14+s>innerWidth?e.clientX-s-8:e.clientX+14,o=e.clientY+14+l>innerHeight?e.clientY-l-8:e.clientY+
14;this.box.style.left=`${Math.max(4,i)}px`,this.box.style.top=`${Math.max(4,o)}px`}hide(){this.box.hidden=!0}},
tt=new Ml;async function Yo(n){let e=document.getElementById(`data-${n}`);if(!e)throw new Error(`the file has no ${n}: i\
t is cut off`);let t=e.textContent??"";e.remove();let s=atob(t),l=new Uint8Array(s.length);for(let o=0;o<s.length;o++)
l[o]=s.charCodeAt(o);let i=new Blob([l]).stream().pipeThrough(new DecompressionStream("deflate"));return new Uint8Array(
await new Response(i).arrayBuffer())}async function Go(n){return JSON.parse(new TextDecoder().decode(await Yo(
n)))}function pa(n,e){let{count:t,width:s,shift:l,is_difference:i}=n,o=s*8+l,u=o>32||i?new Float64Array(t):o>16?
new Uint32Array(t):o>8?new Uint16Array(t):new Uint8Array(t);for(let f=0;f<s;f++){let p=2**(8*f+l),h=f*t;for(let b=0;b<
t;b++)u[b]+=e[h+b]*p}if(i)for(let f=1;f<t;f++)u[f]+=u[f-1];return u}var Ls=class n{constructor(e,t){this.tables=
e;this.columns=t;let s=this.column("back");this.steps=s.length,this.allocations=this.column("size").length,this.
of=new Uint32Array(this.steps),this.begin=new Uint32Array(this.allocations),this.end=new Uint32Array(this.allocations).
fill(4294967295),this.freed=new Uint32Array(this.allocations).fill(4294967295);let l=0,i=0;for(let o=0;o<this.
steps;o++)if(s[o]===0)this.of[o]=l,this.begin[l++]=o;else if(s[o]>l)this.of[o]=4294967295,i++;else{let c=l-s[o];
this.of[o]=c,this.end[c]=o,this.freed[c]=i++}for(let[o,c]of e.replaced)this.end[o]=c;t.delete("back")}tables;columns;steps;allocations;of;begin;end;freed;static async read(){
let[e,t]=await Promise.all([Go("tables"),Go("columns")]),s=t.map(async l=>[l.name,pa(l,await Yo(l.name))]);return new n(
e,new Map(await Promise.all(s)))}column(e){return this.columns.get(e)}timeAt(e){let t=this.column("time");return this.
steps===0?0:t[Math.max(0,Math.min(e,this.steps)-1)]}momentOf(e){let t=this.column("time"),[s,l]=[0,this.steps];
for(;s<l;){let i=s+l>>>1;t[i]<=e?s=i+1:l=i}return s}functions(e){let t=this.tables.frames[e],s=[];for(let l=0;l<
t.length;l+=6){let i=o=>this.tables.texts[t[l+o]];s.push({name:i(0),file:i(1),line:t[l+2],module:i(3),kind:t[l+
4],link:i(5)})}return s}stack(e){let t=[],[s,l]=[this.column("stack_caller"),this.column("stack_frame")];for(let i=e;i!==
0;i=s[i-1])t.push(...this.functions(l[i-1]));return t}};var Ko=new Map,Al="file";function Tl(n){return Ko=new Map(n.tables.editors),n.tables.editors.map(([e])=>[e,e===
"file"?"the browser":e.includes("{path}")?"as TPU_EMU_EDITOR says":e])}function El(n){Al=n}function jo(){return Al}
function qo(n,e){let t=Ko.get(Al)??"file://{path}";if(!n.startsWith("/")||!/^[a-z][a-z0-9+.-]*:/i.test(t)||/^(javascript|data|vbscript):/i.
test(t))return null;let s=n.split("/").map(encodeURIComponent).join("/");return t.replaceAll("{path}",s).replaceAll(
"{line}",String(Math.max(1,e)))}function cs(n){return n.file===""?n.module.split("/").pop()??"":n.line>0?`${n.
file}:${n.line}`:n.file}function Jo(n,e){let t=n.link||qo(n.file,n.line);return t===null?m("span",{class:"wher\
e"},e):m("a",{class:"where",href:t,target:n.link?"_blank":void 0,rel:"noreferrer"},e)}function Qe(n){let e=/^(\/.*?):(\d+)( .*)?$/s.
exec(n),t=e?{file:e[1],line:Number(e[2]),rest:e[3]??""}:null,s=t&&qo(t.file,t.line);if(!t||s===null)return[n];
let l=t.file.split("/").pop();return[m("a",{href:s,title:`${t.file}:${t.line}`,onclick:i=>i.stopPropagation()},
`${l}:${t.line}`),m("span",{class:"function"},t.rest)]}var _l=[["line","Line"],["function","Function"],["executable","Program"],["label","What for"],["array","Array \
type"],["entry","API function"],["space","Memory"]];function De(n,e){let t=n.tables.keys[e]??[];if(e==="space"){
let o=n.column("space");return{words:t,of:c=>o[c]}}let s={label:"site_label",array:"site_spec",entry:"site_ent\
ry"},[l,i]=[n.column("site"),n.column(s[e]??`site_${e}`)];return{words:t,of:o=>i[l[o]]}}function Ot(n,e,t){let{
words:s,of:l}=De(n,t),i=s.length,[o,c,u]=[new Float64Array(i),new Float64Array(i),new Uint32Array(i)],f=new Uint32Array(
i),[p,h,b]=[n.column("size"),n.column("site"),n.column("site_spec")],S=Float64Array.from(n.tables.specs,w=>w.logical);
for(let w of e){let _=l(w);u[_]++===0&&(f[_]=w),o[_]+=p[w],c[_]+=S[b[h[w]]]}let M=[];for(let w=0;w<i;w++)u[w]!==
0&&M.push({key:w,words:s[w],bytes:o[w],logical:c[w],blocks:u[w],first:f[w]});return M.sort((w,_)=>_.bytes-w.bytes||
(w.words<_.words?-1:1))}function Zo(n,e){let t=n.column("site"),s=n.column("size"),l=new Map;for(let i of e){let o=t[i],
c=l.get(o);c||l.set(o,c={key:o,words:"",bytes:0,logical:0,blocks:0,first:i}),c.bytes+=s[i],c.blocks++}return[...l.
values()].sort((i,o)=>o.bytes-i.bytes)}function $s(n,e){let[t,s,l]=[n.column("size"),n.column("site"),n.column(
"site_spec")],i={bytes:0,logical:0};for(let o of e)i.bytes+=t[o],i.logical+=n.tables.specs[l[s[o]]].logical;return i}
function Ps(n,e,t){let{model:s}=n,[l,i]=[s.column("address"),s.column("size")],o=Ll(Float64Array.from(e,p=>l[p]),
e),c=[],[u,f]=[0,-1];for(let p of o){let h=l[p];h>u&&c.push({address:u,size:h-u,before:f,behind:p}),h+i[p]>=u&&
([u,f]=[h+i[p],p])}return t>u&&c.push({address:u,size:t-u,before:f,behind:-1}),{blocks:o,holes:c}}function Ll(n,e){
let t=e.length;if(t<2e3)return Uint32Array.from(Array.from(e.keys()).sort((c,u)=>n[c]-n[u]||c-u),c=>e[c]);let s=new Uint16Array(
n.buffer,n.byteOffset,t*4),[l,i]=[Uint32Array.from(e.keys()),new Uint32Array(t)],o=new Uint32Array(65537);for(let c=0;c<
4;c++){o.fill(0);for(let u=0;u<t;u++)o[s[u*4+c]+1]++;if(!o.some(u=>u===t)){for(let u=0;u<65536;u++)o[u+1]+=o[u];
for(let u=0;u<t;u++)i[o[s[l[u]*4+c]]++]=l[u];[l,i]=[i,l]}}return l.map(c=>e[c])}var Cs=class{constructor(e){this.model=e;this.element.addEventListener("keydown",t=>{t.key==="Escape"&&(t.stopPropagation(),
this.close())})}model;element=m("aside",{class:"drawer","aria-label":"Details",hidden:!0,tabindex:-1});opener=null;face="\
python";close(){this.element.hidden||(this.element.hidden=!0,document.body.classList.remove("with-drawer"),this.
opener?.isConnected&&this.opener.focus())}open(e,...t){this.element.hidden&&(this.opener=document.activeElement);
let s=m("button",{class:"close","aria-label":"Close",onclick:()=>this.close()},"\u2715");oe(this.element,m("di\
v",{class:"drawer-head"},m("h2",{},...e),s),...t),this.element.hidden=!1,document.body.classList.add("with-dra\
wer"),this.element.focus({preventScroll:!0}),this.element.scrollTop=0}blocks(e,t){let{model:s}=this,l=Zo(s,t),
i=l.reduce((S,M)=>S+M.bytes,0),o=l.reduce((S,M)=>S+M.blocks,0),[c,u,f,p]=["site_stack","site_label","site_spec",
"site_entry"].map(S=>s.column(S)),h=s.tables.keys,b=l.slice(0,30).map((S,M)=>{let w=S.key,_=m("details",{open:M===
0});Ze(_,m("summary",{},m("b",{title:Ce(S.bytes)},q(S.bytes)),` in ${pe(S.blocks,"block")}: ${h.label[u[w]]}`),
m("p",{class:"soft"},`${s.tables.specs[f[w]].text}, by ${h.entry[p[w]]}`));let E=()=>{_.open&&!_.querySelector(
".stack")&&_.append(this.stack(c[w]))};return _.addEventListener("toggle",E),E(),_});this.open(e,m("p",{},`${q(
i)} in ${pe(o,"block")}, taken at ${pe(l.length,"place")}.`),...b,l.length>30?m("p",{class:"soft"},`${pe(l.length-
30,"other place")} with less.`):null)}block(e){let{model:t}=this,s=S=>t.column(S)[e],l=s("site"),i=t.tables.specs[t.
column("site_spec")[l]],[o,c]=[t.begin[e],t.end[e]],u=t.column("time"),f=De(t,"line"),p=(S,...M)=>m("tr",{},m(
"th",{},S),m("td",{},...M)),h=t.freed[e],b=h===4294967295?-1:t.column("free_site")[h];this.open([`${q(s("size"))}\
 at ${St(s("address"))}`],m("table",{class:"facts"},p("Taken by",...Qe(f.words[f.of(e)])),p("What for",t.tables.
keys.label[t.column("site_label")[l]]),p("Array",i.text),p("Size",`${Ce(s("size"))}, ${q(Math.max(0,s("size")-
i.logical))} of it padding`),p("Memory",t.tables.spaces[s("space")].name),p("Taken",`${Je(u[o])}, by thread ${t.
tables.threads[s("thread")]} in ${t.tables.keys.entry[t.column("site_entry")[l]]}`),p("Given back",c===4294967295?
"never":b<0?`${Je(u[c])}: another block took its address, its free is missing`:`${Je(u[c])}, after ${Gt(u[c]-u[o])}\
, by thread ${t.tables.threads[t.column("free_thread")[h]]}`)),m("h3",{},"Taken by"),this.stack(t.column("site\
_stack")[l]),b<0?null:m("h3",{},"Given back by"),b<0?null:this.stack(t.column("free_stack")[b]))}calls(e,t,s){
this.open([e],m("p",{},t),this.list(s))}one(e,t,s){this.open([e],m("p",{},t),this.stack(s))}stack(e){let t=this.
model.stack(e),s=m("div",{class:"stack"}),l=()=>{let i={python:2,mixed:4,native:0}[this.face],o=i===0?t:t.filter(
u=>u.kind&i);o.length===0&&(o=this.face==="python"?t.filter(u=>u.kind&1):t),o.length===0&&(o=t);let c=["python",
"mixed","native"].map(u=>{let f={python:"Python",mixed:"Mixed",native:"All frames"}[u];return m("button",{"ari\
a-pressed":String(u===this.face),onclick:()=>(this.face=u,l())},f)});oe(s,m("p",{class:"bar"},...c,m("span",{class:"\
soft"},`${o.length} of ${pe(t.length,"frame")}, innermost first`)),this.list(o))};return l(),s}list(e){if(e.length===
0)return m("p",{class:"soft"},"No stack was recorded.");let t=e.map(s=>m("li",{class:s.kind&1?"python":"native"},
m("span",{class:"function"},s.name||"?")," ",Jo(s,cs(s))));return m("ol",{class:"frames"},...t)}};var Pl=class{frames=[null];parents=[0];node;constructor(e,t){let[s,l]=[e.column("stack_caller"),e.column("stac\
k_frame")];this.node=new Uint32Array(s.length+1);let i=new Map,o=new Map,c=e.tables.frames.map((u,f)=>e.functions(
f).reverse().filter(p=>t(p.kind)).map(p=>{let h=`${p.name}\0${p.file}\0${p.line}`,b=o.get(h)??o.size;return o.
set(h,b),{frame:p,number:b}}));for(let u=1;u<=s.length;u++){let f=this.node[s[u-1]];for(let{frame:p,number:h}of c[l[u-
1]]){let b=f*o.size+h,S=i.get(b);S===void 0&&(S=this.frames.length,i.set(b,S),this.frames.push(p),this.parents.
push(f)),f=S}this.node[u]=f}}},Qo=new Map;function Xo(n,e){let t={python:2,mixed:4,every_python:1},s=Qo.get(e);
return s||Qo.set(e,s=new Pl(n,l=>e==="native"||(l&t[e])!==0)),s}function ga(n,e,t){let s=n.column("site"),l=n.
column("size"),i=n.column("site_stack"),[o,c]=[n.column("site_label"),n.column("site_spec")],u=new Float64Array(
i.length),f=new Uint32Array(i.length);for(let A of e)u[s[A]]+=l[A],f[s[A]]++;let p=[{name:"all",frame:null,parent:0,
bytes:0,blocks:0,depth:0,left:0,children:[]}],h=(A,T,$)=>(p.push({name:T,frame:$,parent:A,bytes:0,blocks:0,depth:p[A].
depth+1,left:0,children:[]}),p[A].children.push(p.length-1),p.length-1),b=new Map,S=(A,T)=>{let $=b.get(A);$||
b.set(A,$=new Int32Array(A.frames.length));let k=[];for(;T!==0&&$[T]===0;T=A.parents[T])k.push(T);for(let z of k.
reverse()){let N=A.frames[z];$[z]=h($[T],N.name,N),T=z}return $[T]},M=Xo(n,t),w=new Map,{labels:_,specs:E}=n.tables;
for(let A=0;A<i.length;A++){if(f[A]===0)continue;let $=M.node[i[A]]===0&&t!=="native"?Xo(n,"every_python"):M,k=S(
$,$.node[i[A]]),z=_[o[A]]===""?_.length+c[A]:o[A],N=k*(_.length+E.length)+z,F=w.get(N);F===void 0&&(F=h(k,_[o[A]]||
E[c[A]].text,null),w.set(N,F)),p[F].bytes+=u[A],p[F].blocks+=f[A]}for(let A=p.length-1;A>0;A--)p[p[A].parent].
bytes+=p[A].bytes,p[p[A].parent].blocks+=p[A].blocks;let v=A=>{let T=p[A].left;p[A].children.sort(($,k)=>p[k].
bytes-p[$].bytes);for(let $ of p[A].children)p[$].left=T,T+=p[$].bytes};for(let A=0;A<p.length;A++)v(A);return p}
var pn=21;function $l(n){return n.frame===null?"what for":n.frame.kind&1?n.frame.file.includes("-packages/")?"\
library":"python":n.frame.kind&8?"emulator":"native"}var ei={"what for":"--flame-what",python:"--flame-python",
library:"--flame-library",native:"--flame-native",emulator:"--flame-emulator"},Ds=class{constructor(e,t){this.
model=e;this.chosen=t}model;chosen;element=m("div",{class:"flame"});all=[];root=0;focus=0;found="";show(e,t,s,l){
this.all=ga(this.model,e,t),this.root=0,this.focus=0,this.found=l.toLowerCase(),this.draw(s)}draw(e){let{all:t}=this;
if(t[0].bytes===0){oe(this.element,m("p",{class:"empty"},"Nothing lived here then."));return}let l=t[this.root],
i=Math.max(200,this.element.clientWidth),o=[],c=[];for(let $=this.root;$!==0;$=t[$].parent)c.push(t[$].parent);
for(let $ of c)o.push({at:$,x:0,width:i,row:t[$].depth});let u=[this.root],f=l.depth;for(;u.length;){let $=u.pop(),
k=t[$],z=k.bytes/l.bytes*i;z<.4||(o.push({at:$,x:(k.left-l.left)/l.bytes*i,width:z,row:k.depth}),f=Math.max(f,
k.depth),u.push(...k.children))}let p=(f+1)*pn+1,[h,b]=Vn(i,p,this.words(this.focus)),S=$=>e?p-($+1)*pn:$*pn,M=me(
"--flame-ink"),w=Object.fromEntries(Object.entries(ei).map(([$,k])=>[$,me(k)])),_=me("--found");b.font="12px s\
ystem-ui, sans-serif",b.textBaseline="middle";let E=0;for(let{at:$,x:k,width:z,row:N}of o){let F=t[$],j=_s($===
0?`all: ${q(F.bytes)}`:F.frame&&F.frame.line?`${F.name}  ${cs(F.frame).split("/").pop()}`:F.name),C=this.found!==
""&&this.label(F).toLowerCase().includes(this.found);C&&E++,b.globalAlpha=N<l.depth?.5:1,b.fillStyle=C?_:$===0?
me("--raised"):w[$l(F)],b.fillRect(k,S(N),Math.max(.5,z-1),pn-1),$===this.focus&&this.focus!==0&&(b.strokeStyle=
me("--ink"),b.lineWidth=2,b.strokeRect(k+1,S(N)+1,Math.max(1,z-3),pn-3)),z>24&&(b.fillStyle=$===0?me("--ink"):
M,b.fillText(Cl(b,j,z-8),k+4,S(N)+pn/2))}b.globalAlpha=1;let v=$=>{let k=h.getBoundingClientRect(),[z,N]=[$.clientX-
k.left,$.clientY-k.top];return o.find(({x:F,width:j,row:C})=>N>=S(C)&&N<S(C)+pn&&z>=F&&z<F+Math.max(1,j))?.at};
h.addEventListener("mousemove",$=>{let k=v($);k===void 0?tt.hide():tt.show($,...this.lines(k))}),h.addEventListener(
"mouseleave",()=>tt.hide()),h.addEventListener("click",$=>{let k=v($);k!==void 0&&this.pick(k,e)}),h.addEventListener(
"keydown",$=>this.key($,e));let A=this.element.contains(document.activeElement),T=this.found===""?null:m("p",{
class:"note"},`${pe(E,"bar")} found`);oe(this.element,T,h,this.legend()),A&&h.focus({preventScroll:!0})}legend(){
let e=[["python","your Python"],["library","Python of packages"],["native","native code"],["emulator","the emu\
lator"],["what for","what for"]],t=new Set(this.all.slice(1).map($l)),s=e.filter(([l])=>t.has(l));return m("p",
{class:"legend"},...s.map(([l,i])=>m("span",{},m("i",{style:`background: var(${ei[l]})`}),i)))}pick(e,t){tt.hide(),
this.root=e,this.focus=e,this.draw(t);let s=this.all[e],l=[];for(let i=e;i!==0;i=this.all[i].parent)this.all[i].
frame&&l.push(this.all[i].frame);e!==0&&this.chosen({frame:s.frame,name:s.name,bytes:s.bytes,blocks:s.blocks,path:l})}key(e,t){
let s=this.all[this.focus],l=this.all[s.parent].children,i=l.indexOf(this.focus),o=t?"ArrowUp":"ArrowDown",c=t?
"ArrowDown":"ArrowUp";if(e.key===o&&s.children.length)this.focus=s.children[0];else if(e.key===c)this.focus=s.
parent;else if(e.key==="ArrowLeft"&&i>0)this.focus=l[i-1];else if(e.key==="ArrowRight"&&this.focus!==0&&i+1<l.
length)this.focus=l[i+1];else return e.key==="Enter"?this.pick(this.focus,t):e.key==="Escape"?this.pick(0,t):void 0;
e.preventDefault(),this.draw(t)}label(e){return e.frame?`${e.name} ${cs(e.frame)}`:e.name}lines(e){let t=this.
all[e],s=[this.label(t),`${q(t.bytes)} in ${pe(t.blocks,"block")}, ${en(t.bytes,this.all[0].bytes)} of all`];return t.
frame?[...s,`${$l(t)}: ${t.frame.module}`]:s}words(e){return`Calls by bytes. ${this.lines(e).join(". ")}. Arro\
w keys go through the bars, Enter zooms, Escape shows all.`}};function Cl(n,e,t){let s=e.slice(0,Math.ceil(t/3));
if(s===e&&n.measureText(s).width<=t)return s;let[l,i]=[0,s.length];for(;l<i;){let o=l+i+1>>1;n.measureText(s.slice(
0,o)+"\u2026").width<=t?l=o:i=o-1}return s=s.slice(0,l),l>0?s+"\u2026":""}var Bn=26,ti=8e6,Ns=class{constructor(e,t,s,l){this.columns=e;this.by=t;this.down=s;this.chosen=l;this.tall.append(
this.window),this.body.append(this.head,this.tall),this.element.append(this.body),this.element.style.setProperty(
"--columns",e.map(i=>i.width).join(" ")),this.body.addEventListener("scroll",()=>this.draw()),new ResizeObserver(
()=>this.draw()).observe(this.body)}columns;by;down;chosen;element=m("div",{class:"grid",role:"table"});head=m(
"div",{class:"grid-head",role:"row"});body=m("div",{class:"grid-body",tabindex:0,role:"rowgroup"});tall=m("div",
{class:"grid-tall"});window=m("div",{class:"grid-window"});list=new Uint32Array;sorted=new Uint32Array;show(e){
this.list=e,this.sort(),this.body.scrollTop=0,this.draw()}sort(){let{sort:e}=this.columns[this.by];this.sorted=
e?Ll(Float64Array.from(this.list,t=>e(t)),this.list):this.list.slice(),this.down&&this.sorted.reverse(),oe(this.
head,...this.columns.map((t,s)=>{let l=s===this.by,i=l?this.down?" \u25BC":" \u25B2":"",o=m("div",{role:"colum\
nheader",class:t.isNumber?"number":void 0,"aria-sort":l?this.down?"descending":"ascending":void 0});if(!t.sort)
o.append(t.title);else{let c=()=>{this.down=l?!this.down:t.isNumber===!0,this.by=s,this.sort(),this.draw(),this.
head.children[s].firstChild.focus()};o.append(m("button",{class:"plain",onclick:c},t.title+i))}return o}))}draw(){
let e=this.sorted.length,t=Math.min(ti,e*Bn);this.tall.style.height=`${t}px`;let s=(this.body.clientHeight||400)-
Bn,l=Math.ceil(s/Bn)+1,i=Math.max(1,t-s),o=Math.min(1,this.body.scrollTop/i),c=e*Bn<=ti,u=c?Math.floor(this.body.
scrollTop/Bn):Math.round(o*Math.max(0,e-l+1));this.window.style.transform=`translateY(${c?u*Bn:this.body.scrollTop}\
px)`;let f=[];for(let p=u;p<Math.min(e,u+l);p++){let h=this.sorted[p],b=this.columns.map(w=>m("div",{role:"cel\
l",class:w.isNumber?"number":void 0},...w.cell(h))),S=()=>this.chosen(h),M=w=>{w.key==="Enter"&&w.target===w.currentTarget&&
this.chosen(h)};f.push(m("div",{class:"grid-row",role:"row",tabindex:0,onclick:S,onkeydown:M},...b))}this.window.
replaceChildren(...f)}};var Ne=-1,zs=class{constructor(e){this.model=e;let t=e.tables.spaces;this.used=t.map((o,c)=>c).filter(o=>t[o].
changes>0);let s=new Set(e.tables.refusals.map(o=>o.space));for(let o of s)this.used.includes(o)||this.used.push(
o);this.used.sort((o,c)=>o-c);let l=this.used.filter(o=>t[o].device!==null),i=[...l,...this.used].reduce((o,c)=>o<
0||t[c].peak>t[o].peak?c:o,l[0]??-2);this.space=l.length>1?Ne:l[0]??(i>=0?i:t.length>0?0:Ne),this.at=this.byName(
"peak")?.of(this.space)??0,e.tables.start&&(this.named=null,this.at=this.of(e.tables.start,this.space))}model;space;at=0;named="\
peak";view="who";used;listeners=[];usage=new Map;lived=null;listen(e){this.listeners.push(e)}tell(e){for(let t of this.
listeners)t(e)}setMoment(e,t=null){this.at=Math.max(0,Math.min(this.model.steps,e)),this.named=t,this.tell("mo\
ment")}setNamed(e){let t=this.byName(e);t&&this.setMoment(t.of(this.space),e)}setSpace(e){this.space=e;let t=this.
named===null?void 0:this.byName(this.named);t&&(this.at=t.of(e)),this.tell("moment")}setView(e){this.view=e,this.
tell("view")}chosen(e=this.space){let t=this.model.tables.spaces,s=new Uint8Array(Math.max(1,t.length));return e===
Ne?t.forEach((l,i)=>s[i]=l.device===null?0:1):s[e]=1,s}name(e=this.space){return e===Ne?"all devices":this.model.
tables.spaces[e].name}capacity(e=this.space){let t=this.chosen(e);return this.model.tables.spaces.reduce((s,l,i)=>s+
(t[i]?l.capacity:0),0)}inUse(e=this.space){let t=this.usage.get(e);if(t)return t;let{model:s}=this,[l,i,o]=[s.
column("space"),s.column("size"),this.chosen(e)],c=new Float64Array(s.steps),u=0;for(let f=0;f<s.steps;f++){let p=s.
of[f];p!==4294967295&&o[l[p]]&&(u+=s.begin[p]===f?i[p]:-i[p]),c[f]=u}for(let[f,p]of s.tables.replaced)if(o[l[f]])
for(let h=p;h<s.steps;h++)c[h]-=i[f];return this.usage.size>=4&&this.usage.clear(),this.usage.set(e,c),c}inUseAt(e,t=this.
space){return e===0?0:this.inUse(t)[e-1]}of(e,t){return t!==Ne?e[t]??0:e.reduce((s,l,i)=>this.model.tables.spaces[i].
device===null?s:Math.max(s,l),0)}names(){let{model:e}=this,{spaces:t,marks:s,refusals:l}=e.tables,i=[{name:"pe\
ak",text:"Peak",of:o=>o===Ne?this.peakOfAll():t[o].peak_at},{name:"end",text:"End",of:o=>this.end(o)},{name:"l\
ast",text:"Last change",of:()=>e.steps}];return s.forEach((o,c)=>i.push({name:`mark-${c}`,text:`Mark: ${o.name}`,
of:u=>this.of(o.at,u)})),l.forEach((o,c)=>i.push({name:`refusal-${c}`,text:`Out of memory ${c+1} in ${t[o.space].
name}`,of:u=>this.of(o.at,u)})),i}byName(e){return this.names().find(t=>t.name===e)}end(e){let{spaces:t}=this.
model.tables;return e!==Ne?t[e].end_at:t.filter(l=>l.device!==null&&l.cleaned_at!==null).reduce((l,i)=>Math.min(
l,i.cleaned_at),this.model.steps)}peakOfAll(){let e=this.inUse(Ne),[t,s]=[0,0];for(let l=0;l<e.length;l++)e[l]>
t&&([t,s]=[e[l],l+1]);return s}live(e=this.at,t=this.space){let s=`${e} ${t}`;if(this.lived?.key===s)return this.
lived.list;let{model:l}=this,i=this.chosen(t),[o,c,u]=[l.column("space"),l.begin,l.end],f=0,p=new Uint32Array(
l.allocations);for(let h=0;h<l.allocations&&c[h]<e;h++)u[h]>=e&&i[o[h]]&&(p[f++]=h);return this.lived={key:s,list:p.
slice(0,f)},this.lived.list}made(e,t,s=this.space){let{model:l}=this,[i,o]=[l.column("space"),this.chosen(s)],
c=new Uint32Array(l.allocations),u=0;for(let f=0;f<l.allocations&&l.begin[f]<t;f++)l.begin[f]>=e&&o[i[f]]&&(c[u++]=
f);return c.slice(0,u)}neighbour(e,t){let{model:s}=this,[l,i]=[s.column("space"),this.chosen()],o=this.at;for(let c=t;c>
0;){let u=e?o+1:o-1;if(u<0||u>s.steps)break;o=u;let f=o===0?4294967295:s.of[o-1];(o===0||f!==4294967295&&i[l[f]])&&
c--}return o}};var tn=16,us=3,Rs=8,Fs=class{constructor(e,t){this.state=e;this.chosen=t}state;chosen;element=m("div",{class:"\
map"});whole=!1;window=null;shown="";show(){let{state:e}=this,{model:t}=e,s=`${e.space}`;if(s!==this.shown&&(this.
window=null),this.shown=s,e.space===Ne){oe(this.element,m("p",{class:"empty"},"Addresses are those of one memo\
ry: choose a device above."));return}let l=e.live(),i=e.capacity(),{blocks:o,holes:c}=Ps(e,l,i),[u,f]=[t.column(
"address"),t.column("size")],p=c.length&&c[c.length-1].behind<0?c[c.length-1].address:i,[h,b]=this.window??[0,
this.whole?i:Math.max(512,Math.min(i,p*1.03))],S=Math.max(200,this.element.clientWidth),M=24,w=Math.max(512,Math.
ceil((b-h)/M/512)*512);b=h+w*M;let _=M*(tn+us),E=`Addresses ${St(h)} to ${St(b)}: ${pe(o.length,"block")}, ${pe(
c.length,"hole")}`,[v,A]=Vn(S,_,E),T=Ot(t,l,"line"),{of:$}=De(t,"line"),k=new Map(T.slice(0,Rs).map((V,R)=>[V.
key,R])),z=Array.from({length:Rs},(V,R)=>me(`--hue-${R}`)),[N,F]=[me("--hue-other"),me("--hole")],j=ba(A,F,me(
"--hole-line")),C=me("--paper");for(let V=0;V<M;V++){let R=Math.min(i,h+(V+1)*w)-(h+V*w);if(R<=0)break;A.fillStyle=
j,A.fillRect(0,V*(tn+us),R/w*S,tn)}let ee=(V,R,W,re)=>{let ye=Math.max(V,h),fe=Math.min(V+R,b);for(;ye<fe;){let ne=Math.
floor((ye-h)/w),_e=Math.min(fe,h+(ne+1)*w),Xe=(ye-h-ne*w)/w*S,we=(_e-ye)/w*S;A.fillStyle=W,A.fillRect(Xe,ne*(tn+
us),Math.max(.6,we),tn),re&&we>3&&(A.fillStyle=re,A.fillRect(Xe+we-.6,ne*(tn+us),.6,tn)),ye=_e}};for(let V of o){
let R=k.get($(V));ee(u[V],f[V],R===void 0?N:z[R],C)}let G=Float64Array.from(o,V=>u[V]),J=V=>{let R=v.getBoundingClientRect(),
W=Math.floor((V.clientY-R.top)/(tn+us)),re=h+W*w+(V.clientX-R.left)/S*w;if(re<0||re>=i)return null;let[ye,fe]=[
0,G.length];for(;ye<fe;){let _e=ye+fe>>1;G[_e]<=re?ye=_e+1:fe=_e}let ne=ye>0?o[ye-1]:void 0;return ne!==void 0&&
re<u[ne]+f[ne]?{block:ne,address:re}:{hole:c.find(_e=>_e.address<=re&&re<_e.address+_e.size),address:re}};v.addEventListener(
"mousemove",V=>{let R=J(V);if(!R)return tt.hide();if(R.block!==void 0){let W=De(t,"line").words[$(R.block)];tt.
show(V,`${q(f[R.block])} at ${St(u[R.block])}`,W,De(t,"label").words[De(t,"label").of(R.block)])}else R.hole&&
tt.show(V,`hole of ${q(R.hole.size)} at ${St(R.hole.address)}`)}),v.addEventListener("mouseleave",()=>tt.hide()),
v.addEventListener("click",V=>{let R=J(V);R?.block!==void 0&&this.chosen(R.block)});let Y=c.reduce((V,R)=>V+R.
size,0),Q=c.reduce((V,R)=>Math.max(V,R.size),0),I=(V,R)=>m("button",{onclick:R},V),Re=(h+b)/2,ae=w*M/2,se=(V,R)=>{
let W=Math.min(R-V,i),re=Math.max(0,Math.min(V,i-W));this.window=[Math.floor(re/512)*512,re+W],this.show()};oe(
this.element,m("p",{class:"bar"},m("span",{},`${q(Y)} free in ${pe(c.length,"hole")}, the largest `,m("b",{id:"\
largest-hole",title:Ce(Q)},q(Q))),I("Zoom in",()=>se(Re-ae/2,Re+ae/2)),I("Zoom out",()=>se(Re-ae*2,Re+ae*2)),I(
"\u25C0",()=>se(h-ae,b-ae)),I("\u25B6",()=>se(h+ae,b+ae)),I(this.whole?"Used part":"Whole memory",()=>{this.whole=
!this.whole,this.window=null,this.show()}),m("span",{class:"soft"},`${St(h)} to ${St(Math.min(b,i))}, a row is\
 ${q(w)}`)),v,m("p",{class:"legend"},...T.slice(0,Rs).map((V,R)=>m("span",{},m("i",{style:`background: var(--h\
ue-${R})`}),...Qe(V.words),` ${q(V.bytes)}`)),T.length>Rs&&m("span",{},m("i",{style:"background: var(--hue-oth\
er)"}),"others"),m("span",{},m("i",{class:"hatched"}),"hole")),m("h3",{},"Largest holes, and what stands on bo\
th sides"),this.holes(c,se))}holes(e,t){let{model:s}=this.state,{words:l,of:i}=De(s,"line"),o=s.column("size"),
c=(p,h)=>p<0?m("td",{class:"soft"},h):m("td",{},m("button",{class:"plain",onclick:()=>this.chosen(p)},q(o[p])),
" ",...Qe(l[i(p)])),f=[...e].sort((p,h)=>h.size-p.size).slice(0,50).map(p=>m("tr",{},m("td",{class:"number",title:Ce(
p.size)},m("button",{class:"plain",onclick:()=>t(p.address-p.size/4,p.address+p.size*1.25)},q(p.size))),m("td",
{class:"number"},St(p.address)),c(p.before,"begin of the memory"),c(p.behind,"end of the memory")));return m("\
div",{class:"scroll"},m("table",{id:"holes"},m("thead",{},m("tr",{},...["Hole","Address","Before it","Behind i\
t"].map((p,h)=>m("th",{class:h<2?"number":void 0},p)))),m("tbody",{},...f)))}};function ba(n,e,t){let s=document.
createElement("canvas");[s.width,s.height]=[6,6];let l=s.getContext("2d");return l.fillStyle=e,l.fillRect(0,0,
6,6),l.strokeStyle=t,l.beginPath(),l.moveTo(0,6),l.lineTo(6,0),l.stroke(),n.createPattern(s,"repeat")??e}function In(n,e,t,s=500){let l=n.reduce((c,u)=>c+u.bytes,0),i=n.slice(0,s).map(c=>{let u=()=>t(c),f=h=>{h.key===
"Enter"&&h.target===h.currentTarget&&u()},p=Math.max(0,c.bytes-c.logical);return m("tr",{class:"opens",tabindex:0,
onclick:u,onkeydown:f,"data-bytes":c.bytes,"data-blocks":c.blocks,"data-key":c.words},m("td",{class:"share"},m(
"i",{style:`width: ${c.bytes/Math.max(1,e)*100}%`})),m("td",{class:"number",title:Ce(c.bytes)},q(c.bytes)),m("\
td",{class:"number"},en(c.bytes,l)),m("td",{class:"number"},Ue(c.blocks)),m("td",{class:"number",title:Ce(p)},
p?q(p):"\u2013"),m("td",{class:"key",title:c.words},...Qe(c.words)))}),o=["","Bytes","Share","Blocks","Padding",
"Origin"].map((c,u)=>m("th",{class:u>0&&u<5?"number":void 0},c));return m("div",{class:"scroll"},m("table",{class:"\
sums"},m("thead",{},m("tr",{},...o)),m("tbody",{},...i)),n.length>s&&m("p",{class:"soft"},`${pe(n.length-s,"ot\
her row")} with less: search for them.`))}function ya(n,e){let t=e.toLowerCase();return t===""?n:n.filter(s=>s.
words.toLowerCase().includes(t))}function Dl(n,e){let t=m("input",{type:"search",placeholder:n,"aria-label":n,
oninput:()=>e(t.value)});return t}function ni(n,e){let[t,s]=["line",""],l=m("h2",{}),i=m("div",{}),o=mt("By",_l,
t,p=>(t=p,f())),c=Dl("Search origins",p=>(s=p,f())),u=m("section",{},m("p",{class:"bar"},l,o,c),i),f=()=>{let p=n.
live(),h=$s(n.model,p);oe(l,"Who held ",m("b",{id:"held-bytes",title:Ce(h.bytes),"data-bytes":h.bytes},q(h.bytes)),
` in ${pe(p.length,"block")}`);let b=ya(Ot(n.model,p,t),s),S=M=>{let{of:w}=De(n.model,t);e.blocks(Qe(M.words),
p.filter(_=>w(_)===M.key))};oe(i,b.length?In(b,b[0].bytes,S):m("p",{class:"empty"},p.length?"No origin has the\
se words.":"Nothing lived here then."))};return{name:"who",title:"Who",element:u,show:f}}function si(n,e){let[
t,s,l,i]=["python","live","icicle",""],o=new Ds(n.model,({frame:f,name:p,bytes:h,blocks:b,path:S})=>{let M=`${q(
h)} in ${pe(b,"block")}`;e.calls(f?p:`What for: ${p}`,M,S)}),c=m("section",{},m("p",{class:"bar"},mt("Frames",
[["python","Python"],["mixed","Python and native"],["native","All, the interpreter's too"]],t,f=>(t=f,u())),mt(
"Blocks",[["live","that live"],["allocated","allocated until then"]],s,f=>(s=f,u())),mt("Form",[["icicle","ici\
cle, callers above"],["flame","flames, callers below"]],l,f=>(l=f,u())),Dl("Search calls",f=>(i=f,u()))),o.element),
u=()=>o.show(s==="live"?n.live():n.made(0,n.at),t,l==="flame",i);return{name:"flame",title:"Flame graph",element:c,
show:u}}function li(n,e){let t=new Fs(n,l=>e.block(l));return{name:"map",title:"Address map",element:m("sectio\
n",{},t.element),show:()=>t.show()}}function oi(n,e){let{model:t}=n,[s,l]=["live",""],i=De(t,"line"),o=De(t,"l\
abel"),[c,u,f,p,h]=["size","address","site","site_spec","space"].map(k=>t.column(k)),b=t.column("time"),S=k=>{
let z=new Float64Array(k.length);return Array.from(k.keys()).sort((N,F)=>k[N]<k[F]?-1:k[N]>k[F]?1:0).forEach((N,F)=>z[N]=
F),z},[M,w,_]=[S(i.words),S(o.words),S(t.tables.specs.map(k=>k.text))],E=k=>{let z=t.end[k];return z===4294967295?
Number.MAX_SAFE_INTEGER:b[z]-b[t.begin[k]]},v=new Ns([{title:"Bytes",width:"minmax(5.5rem, 0.7fr)",isNumber:!0,
sort:k=>c[k],cell:k=>[q(c[k])]},{title:"Origin",width:"minmax(9rem, 3fr)",sort:k=>M[i.of(k)],cell:k=>Qe(i.words[i.
of(k)])},{title:"What for",width:"minmax(8rem, 3fr)",sort:k=>w[o.of(k)],cell:k=>[o.words[o.of(k)]]},{title:"Ar\
ray",width:"minmax(7rem, 2fr)",sort:k=>_[p[f[k]]],cell:k=>[t.tables.specs[p[f[k]]].text]},{title:"Address",width:"\
minmax(6rem, 0.9fr)",isNumber:!0,sort:k=>u[k],cell:k=>[St(u[k])]},{title:"Taken",width:"minmax(6rem, 0.9fr)",isNumber:!0,
sort:k=>t.begin[k],cell:k=>[Je(b[t.begin[k]])]},{title:"Lived",width:"minmax(5rem, 0.8fr)",isNumber:!0,sort:E,
cell:k=>[t.end[k]===4294967295?"to the end":Gt(E(k))]},{title:"Memory",width:"minmax(4.5rem, 0.7fr)",sort:k=>h[k],
cell:k=>[t.tables.spaces[h[k]].name]}],0,!0,k=>e.block(k)),A=m("span",{class:"soft",id:"allocation-count"}),T=m(
"section",{},m("p",{class:"bar"},mt("Blocks",[["live","that live"],["allocated","allocated until then"],["all",
"all of the trace"]],s,k=>(s=k,$())),Dl("Search allocations",k=>(l=k,$())),A),v.element),$=()=>{let k=s==="liv\
e"?n.live():n.made(0,s==="all"?t.steps:n.at),z=l.toLowerCase();if(z!==""){let[F,j]=["site_line","site_label"].
map(Q=>t.column(Q)),C=Q=>Q.toLowerCase().includes(z),[ee,G]=[i.words.map(C),o.words.map(C)],J=t.tables.specs.map(
Q=>C(Q.text)),Y=Uint8Array.from(p,(Q,I)=>Number(ee[F[I]]||G[j[I]]||J[Q]));k=k.filter(Q=>Y[f[Q]]===1)}let N=k.reduce(
(F,j)=>F+c[j],0);oe(A,`${pe(k.length,"block")}, ${q(N)}`),v.show(k)};return{name:"allocations",title:"Allocati\
ons",element:T,show:$}}function ii(n,e){let{model:t}=n,s=[["start","Start of the trace"],...n.names().map(({name:h,
text:b})=>[h,b]),["now","Chosen moment"]],[l,i]=[n.model.tables.marks.length?"mark-0":"start","end"],o="line",
c=h=>h==="start"?0:h==="now"?n.at:n.byName(h).of(n.space),u=m("div",{}),f=m("section",{},m("p",{class:"bar"},mt(
"Taken after",s,l,h=>(l=h,p())),mt("and held at",s,i,h=>(i=h,p())),mt("By",_l,o,h=>(o=h,p()))),u),p=()=>{let[h,
b]=[c(l),c(i)];if(b<=h){oe(u,m("p",{class:"empty"},"The second moment is not behind the first one."));return}let S=n.
live(b).filter(E=>t.begin[E]>=h),M=Ot(t,S,o),w=$s(t,S),_=E=>{let{of:v}=De(t,o);e.blocks(Qe(E.words),S.filter(A=>v(
A)===E.key))};oe(u,m("h2",{},m("b",{id:"leaked-bytes","data-bytes":w.bytes,title:Ce(w.bytes)},q(w.bytes)),` in\
 ${pe(S.length,"block")} taken after ${Je(h===0?0:t.timeAt(h))} and held at ${Je(t.timeAt(b))}`),M.length?In(M,
M[0].bytes,_):m("p",{class:"empty"},"Nothing was taken in between and is still held."),M.length?wa(t,S,o,M,h,b):
null)};return{name:"leaks",title:"Leaks",element:f,show:p}}function wa(n,e,t,s,l,i){let o=s.slice(0,10),{of:c}=De(
n,t),[u,f]=[n.timeAt(Math.max(1,l)),n.timeAt(i)],p=40,h=new Map(o.map(M=>[M.key,new Uint32Array(p)])),b=n.column(
"time");for(let M of e){let w=h.get(c(M));w&&w[Math.min(p-1,Math.floor((b[n.begin[M]]-u)/Math.max(1,f-u)*p))]++}
let S=o.map(M=>{let w=h.get(M.key),_=Math.max(...w),E=w.filter(T=>T>0).length,v=Array.from(w,T=>m("i",{style:`\
height: ${T?Math.max(2,T/_*18):0}px`})),A=E>=p*.6?"all the time":E<=2?"at one time":`in ${E} of ${p} parts of \
the time`;return m("tr",{},m("td",{},m("div",{class:"bins"},...v)),m("td",{class:"soft"},A),m("td",{class:"key"},
...Qe(M.words)))});return m("div",{class:"scroll"},m("h3",{},"When they were taken"),m("table",{},m("tbody",{},
...S)))}function ri(n,e){let{model:t}=n,s=m("section",{});return{name:"padding",title:"Padding",element:s,show:()=>{
let i=n.live(),o=$s(t,i),c=h=>h.bytes-h.logical,[u,f]=["array","line"].map(h=>Ot(t,i,h).filter(b=>c(b)>0).sort(
(b,S)=>c(S)-c(b))),p=(h,b,S)=>{let M=b==="array"&&t.tables.specs.some(v=>v.advice),w=h.length?c(h[0]):1,_=h.slice(
0,200).map(v=>{let A=()=>{let{of:$}=De(t,b);e.blocks(Qe(v.words),i.filter(k=>$(k)===v.key))};return m("tr",{class:"\
opens",tabindex:0,onclick:A,onkeydown:$=>{$.key==="Enter"&&$.target===$.currentTarget&&A()},"data-lost":c(v)},
m("td",{class:"share"},m("i",{style:`width: ${c(v)/w*100}%`})),m("td",{class:"number",title:Ce(c(v))},q(c(v))),
m("td",{class:"number"},en(c(v),v.bytes)),m("td",{class:"number"},q(v.bytes)),m("td",{class:"number"},Ue(v.blocks)),
m("td",{class:"key",title:v.words},...Qe(v.words)),M&&m("td",{},t.tables.specs[v.key].advice??""))}),E=["","Lo\
st","Of it","In memory","Blocks",S,...M?["What would avoid it"]:[]];return m("div",{class:"scroll"},m("table",
{class:"sums"},m("thead",{},m("tr",{},...E.map((v,A)=>m("th",{class:A>0&&A<5?"number":void 0},v)))),m("tbody",
{},..._)))};oe(s,m("h2",{},m("b",{id:"padding-bytes","data-bytes":o.bytes-o.logical,title:Ce(o.bytes-o.logical)},
q(o.bytes-o.logical)),` of ${q(o.bytes)} are padding (${en(o.bytes-o.logical,o.bytes)})`),m("p",{class:"soft"},
"Padding is what tiles of the device's layout and the heap's rounding add to the elements of an array."),...u.
length?[m("h3",{},"By array type"),p(u,"array","Array type"),m("h3",{},"By line"),p(f,"line","Origin")]:[m("p",
{class:"empty"},"Nothing that lived then had any.")])}}}function ai(n,e){let{model:t}=n,{refusals:s,spaces:l}=t.
tables,i=m("section",{}),o=!1;return{name:"refusals",title:"Out of memory",element:i,show:()=>{if(o)return;if(o=
!0,s.length===0){oe(i,m("p",{class:"empty"},"No allocation of this trace found no room."));return}let u=s.slice(
0,50).map((f,p)=>{let h=f.at[f.space],b=n.live(h,f.space).slice(),S=l[f.space],M=t.tables.specs[f.spec],w=n.inUseAt(
h,f.space),_=Ot(t,b,"line"),E=Ps(n,b,S.capacity).holes,v=f.holes??{free:E.reduce((z,N)=>z+N.size,0),largest:E.
reduce((z,N)=>Math.max(z,N.size),0),count:E.length},A=z=>{let{of:N}=De(t,"line");e.blocks(Qe(z.words),b.filter(
F=>N(F)===z.key))},T=t.tables.labels[f.label],$=f.advice??[],k=m("details",{open:p===0,class:"refusal"});return Ze(
k,m("summary",{},m("b",{},`\u2715 ${S.name} had no room for ${q(f.size)}`),` at ${Je(f.time)}`),m("p",{},`Aske\
d for ${Ce(f.size)}: ${T||M.text}, by ${t.tables.keys.entry[f.entry]}.`),m("p",{},`${q(w)} of ${q(S.capacity)}\
 were in use, ${q(v.free)} free in ${pe(v.count,"hole")}, the largest ${q(v.largest)}.`,v.free>=f.size&&v.largest<
f.size?" There was enough, but not in one piece.":null),m("p",{class:"bar"},m("button",{onclick:()=>{n.setSpace(
f.space),n.setNamed(`refusal-${p}`),n.setView("map")}},"Show the address map of this moment"),m("button",{onclick:()=>e.
one("Who asked",`For ${Ce(f.size)}`,f.stack)},"Show who asked")),$.length>0&&m("h3",{},"What would make it fit\
, checked by replay"),$.length>0&&m("ul",{},...$.map(z=>m("li",{},z))),m("h3",{},"Who held the memory"),_.length?
In(_,_[0].bytes,A,20):m("p",{class:"empty"},"Nothing: it is larger than the memory.")),k});oe(i,m("h2",{},pe(s.
length,"allocation")," without room"),...u),s.length>50&&i.append(m("p",{class:"soft"},`The first 50 of ${Ue(s.
length)} are shown.`))}}}function ci(n){let e=new Map;for(let[,l,,i,o]of n.slots)e.set(i,(e.get(i)??0)+l),e.set(o+1,(e.get(o+1)??0)-l);
let[t,s]=[0,{position:0,bytes:0}];for(let l of[...e.keys()].sort((i,o)=>i-o))t+=e.get(l),t>s.bytes&&(s={position:l,
bytes:t});return s}function va(n,e){let[l,i]=Vn(e,300,`Static plan of ${n.name}: ${pe(n.slots.length,"temporar\
y slot")}`),o=n.slots.reduce((_,E)=>Math.max(_,E[0]+E[1]),1),c=Math.max(n.positions,n.slots.reduce((_,E)=>Math.
max(_,E[4]+1),1)),u=_=>70+_/c*(e-70-4),f=_=>278-_/o*270;i.font="11px system-ui, sans-serif",i.fillStyle=me("--\
soft");for(let _=0;_<=4;_++)i.fillText(q(o*_/4),2,f(o*_/4)+4);i.fillText("first operation",70,294);let p=`oper\
ation ${Ue(c)}`;i.fillText(p,e-i.measureText(p).width-4,294);let h=_=>[u(_[3]),f(_[0]+_[1]),Math.max(1,u(_[4]+
1)-u(_[3])),Math.max(1,f(_[0])-f(_[0]+_[1]))],b=[...new Set(n.slots.map(_=>_[6]))].sort(),S=me("--flame-ink"),
M=me("--paper");for(let _ of n.slots){let[E,v,A,T]=h(_);i.fillStyle=me(`--hue-${b.indexOf(_[6])%8}`),i.fillRect(
E,v,A,T),A>3&&T>3&&(i.strokeStyle=M,i.lineWidth=.7,i.strokeRect(E,v,A,T)),A>40&&T>12&&(i.fillStyle=S,i.fillText(
Cl(i,_[6].replace("stablehlo.",""),A-6),E+3,v+Math.min(T/2+4,T-2)))}let w=ci(n);return i.strokeStyle=me("--ink"),
i.setLineDash([4,3]),i.beginPath(),i.moveTo(u(w.position+.5),4),i.lineTo(u(w.position+.5),278),i.stroke(),l.addEventListener(
"mousemove",_=>{let E=l.getBoundingClientRect(),[v,A]=[_.clientX-E.left,_.clientY-E.top],T=n.slots.find($=>{let[
k,z,N,F]=h($);return v>=k&&v<=k+N&&A>=z&&A<=z+F});T?tt.show(_,`${T[6]}  ${T[5]}`,`${q(T[1])} at ${Ue(T[0])}, o\
perations ${T[3]} to ${T[4]}`,T[7]):tt.hide()}),l.addEventListener("mouseleave",()=>tt.hide()),l}function ka(n,e){
let t=ci(n),s=n.slots.filter(o=>o[3]<=t.position&&o[4]>=t.position).sort((o,c)=>c[1]-o[1]),l=s.slice(0,100).map(
([,o,c,u,f,p,h,b])=>m("tr",{},m("td",{class:"number",title:Ce(o)},q(o)),m("td",{class:"number"},o>c?q(o-c):"\u2013"),
m("td",{},h),m("td",{},p),m("td",{class:"number"},`${u}\u2013${f}`),m("td",{class:"key"},...Qe(b)))),i=["Bytes",
"Padding","Operation","Array","Lives","Line"].map((o,c)=>m("th",{class:c<2||c===4?"number":void 0},o));return m(
"div",{},va(n,e),m("h3",{},`Temporaries at their peak, operation ${Ue(t.position)}: ${q(t.bytes)} in ${pe(s.length,
"slot")}`),m("div",{class:"scroll"},m("table",{},m("thead",{},m("tr",{},...i)),m("tbody",{},...l))))}function ui(n,e){
let{model:t}=n,{programs:s,format:l}=t.tables,i=m("section",{}),o=s.reduce((u,f,p)=>f.temporaries>(s[u]?.temporaries??
-1)?p:u,0),c=()=>{if(oe(i),s.length>0){let h=m("div",{class:"plan"}),b=s.map((M,w)=>({program:M,at:w})).sort((M,w)=>w.
program.temporaries-M.program.temporaries).map(({program:M,at:w})=>m("tr",{class:w===o?"chosen":void 0},m("td",
{},m("button",{class:"plain",onclick:()=>(o=w,c())},M.name)),...[M.temporaries,M.constants,M.arguments,M.results].
map(_=>m("td",{class:"number",title:Ce(_)},q(_))),m("td",{class:"number"},Ue(M.slots.length)),m("td",{class:"n\
umber"},Ue(M.runs)),m("td",{class:"number"},M.runs?Gt(M.ran):"\u2013"))),S=["Program","Temporaries","Constants",
"Arguments","Results","Slots","Runs","Ran for"].map((M,w)=>m("th",{class:w?"number":void 0},M));Ze(i,m("h2",{},
pe(s.length,"program")," with static plans"),m("div",{class:"scroll short"},m("table",{id:"programs"},m("thead",
{},m("tr",{},...S)),m("tbody",{},...b))),m("h3",{},`${s[o].name}: temporaries over its operations`),h),s[o].slots.
length?oe(h,ka(s[o],Math.max(300,i.clientWidth))):oe(h,m("p",{class:"empty"},"This program has no temporaries."))}else{
let h=l[1]<5?`This trace has no static plans: they are written since format 1.5, and it is of ${l.join(".")}.`:
"No program was launched, so there is no static plan.";Ze(i,m("p",{class:"missing"},h))}let u=n.live(),f=Ot(t,
u,"executable"),p=h=>{let{of:b}=De(t,"executable");e.blocks([h.words],u.filter(S=>b(S)===h.key))};Ze(i,m("h2",
{},"What programs held at the chosen moment"),f.length?In(f,f[0].bytes,p):m("p",{class:"empty"},"Nothing lived\
 here then."))};return{name:"programs",title:"Programs",element:i,show:c}}var xa=["instantiate","prepare","ini\
tialize","execute"];function fi(n,e){let{model:t}=n,{calls:s,entries:l,dispatches:i,dispatched:o,faults:c,format:u}=t.
tables,f=m("section",{}),p=!1,h=(M,w=!0)=>m("td",{class:w?"number":void 0},M),b=(M,w,_,E)=>m("div",{class:"scr\
oll"},m("table",{id:M},m("thead",{},m("tr",{},...w.map((v,A)=>m("th",{class:A<w.length-_&&A>0?"number":void 0},
v)))),m("tbody",{},...E)));return{name:"calls",title:"Calls",element:f,show:()=>{if(!p){if(p=!0,s.length){let M=new Map;
for(let E of s)M.set(E.function,[...M.get(E.function)??[],E]);let w=(E,v)=>E.reduce((A,T)=>A+T[v],0),_=[...M.entries()].
sort(([,E],[,v])=>w(v,"nanos")-w(E,"nanos")).map(([E,v])=>{let A=[...v].sort(($,k)=>k.nanos-$.nanos)[0],T=()=>e.
one(l[E],`${pe(w(v,"count"),"call")} from ${pe(v.length,"stack")}; of the one that took longest:`,A.stack);return m(
"tr",{"data-count":w(v,"count")},m("td",{},m("button",{class:"plain",onclick:T},l[E])),h(Ue(w(v,"count"))),h(Gt(
w(v,"nanos"))),h(Gt(w(v,"nanos")/Math.max(1,w(v,"count")))),h(q(w(v,"bytes"))),h(w(v,"errors")?`\u2715 ${Ue(w(
v,"errors"))}`:"\u2013"),h(Ue(v.length)),h(Je(Math.min(...v.map($=>$.first)))))});Ze(f,m("h2",{},"Calls of the\
 interface"),b("calls",["Function","Calls","Time","Each","Bytes","Errors","Stacks","First"],0,_))}else{let M=u[1]<
5?`This trace has no counts of calls: they are written since format 1.5, and it is of ${u.join(".")}.`:"This t\
race has no counts of calls: they were switched off (TPU_EMU_CALLS=off), or nothing was called.",w=n.made(0,t.
steps),_=Ot(t,w,"entry"),E=v=>{let{of:A}=De(t,"entry");e.blocks([v.words],w.filter(T=>A(T)===v.key))};Ze(f,m("\
p",{class:"missing"},M),m("h2",{},"Functions that took memory, over the whole trace"),_.length?In(_,_[0].bytes,
E):m("p",{class:"empty"},"None."))}if(o){let M=i.map(w=>m("tr",{},m("td",{},m("button",{class:"plain",onclick:()=>e.
one(w.target,w.line,w.stack)},w.target)),h(Ue(w.count)),h(Gt(w.nanos)),h(q(w.scratch)),h(w.errors?`\u2715 ${Ue(
w.errors)}`:"\u2013"),h(xa[w.stage]??String(w.stage),!1),h(w.program,!1),m("td",{title:w.error},...Qe(w.line),
w.error?`: ${w.error}`:"")));Ze(f,m("h2",{},"Custom calls"),b("dispatches",["Target","Stages","Time","Scratch",
"Errors","Stage","Program","Line"],3,M))}if(c.length){let M=c.slice(0,500).map(w=>m("tr",{},m("td",{},m("butto\
n",{class:"plain",onclick:()=>e.one(w.entry||"A refused call",w.message,w.stack)},w.entry||"outside of the API")),
h(Je(w.time)),h(w.message,!1)));Ze(f,m("h2",{},"Calls that were refused because of what they were given"),b("f\
aults",["Function","Time","What was wrong"],1,M))}}}}}var Sa="uplot",Ma="u-hz",Aa="u-vt",Ta="u-title",Ea="u-wrap",_a="u-under",La="u-over",$a="u-axis",yn="u-off",Pa="\
u-select",Ca="u-cursor-x",Da="u-cursor-y",Na="u-cursor-pt",za="u-legend",Ra="u-live",Fa="u-inline",Ua="u-serie\
s",Ha="u-marker",hi="u-label",Oa="u-value",hs="width",ms="height";var mi="bottom",Gn="left",Nl="right",Zl="#000",di=Zl+"0",zl="mousemove",pi="mousedown",Rl="mouseup",gi="mousee\
nter",bi="mouseleave",yi="dblclick",Va="resize",Wa="scroll",wi="change",Ws="dppxchange",Ql="--",Qn=typeof window<
"u",Vl=Qn?document:null,Kn=Qn?window:null,Ba=Qn?navigator:null,de,Us;function Wl(){let n=devicePixelRatio;de!=
n&&(de=n,Us&&Il(wi,Us,Wl),Us=matchMedia(`(min-resolution: ${de-.001}dppx) and (max-resolution: ${de+.001}dppx)`),
wn(wi,Us,Wl),Kn.dispatchEvent(new CustomEvent(Ws)))}function dt(n,e){if(e!=null){let t=n.classList;!t.contains(
e)&&t.add(e)}}function Bl(n,e){let t=n.classList;t.contains(e)&&t.remove(e)}function Te(n,e,t){n.style[e]=t+"p\
x"}function $t(n,e,t,s){let l=Vl.createElement(n);return e!=null&&dt(l,e),t?.insertBefore(l,s),l}function Mt(n,e){
return $t("div",n,e)}var vi=new WeakMap;function Vt(n,e,t,s,l){let i="translate("+e+"px,"+t+"px)",o=vi.get(n);
i!=o&&(n.style.transform=i,vi.set(n,i),e<0||t<0||e>s||t>l?dt(n,yn):Bl(n,yn))}var ki=new WeakMap;function xi(n,e,t){
let s=e+t,l=ki.get(n);s!=l&&(ki.set(n,s),n.style.background=e,n.style.borderColor=t)}var Si=new WeakMap;function Mi(n,e,t,s){
let l=e+""+t,i=Si.get(n);l!=i&&(Si.set(n,l),n.style.height=t+"px",n.style.width=e+"px",n.style.marginLeft=s?-e/
2+"px":0,n.style.marginTop=s?-t/2+"px":0)}var Xl={passive:!0},Ia={...Xl,capture:!0};function wn(n,e,t,s){e.addEventListener(
n,t,s?Ia:Xl)}function Il(n,e,t,s){e.removeEventListener(n,t,Xl)}Qn&&Wl();function Pt(n,e,t,s){let l;t=t||0,s=s||
e.length-1;let i=s<=2147483647;for(;s-t>1;)l=i?t+s>>1:pt((t+s)/2),e[l]<n?t=l:s=l;return n-e[t]<=e[s]-n?t:s}function Qi(n){
return(t,s,l)=>{let i=-1,o=-1;for(let c=s;c<=l;c++)if(n(t[c])){i=c;break}for(let c=l;c>=s;c--)if(n(t[c])){o=c;
break}return[i,o]}}var Xi=n=>n!=null,er=n=>n!=null&&n>0,Gs=Qi(Xi),Ga=Qi(er);function Ya(n,e,t,s=0,l=!1){let i=l?
Ga:Gs,o=l?er:Xi;[e,t]=i(n,e,t);let c=n[e],u=n[e];if(e>-1)if(s==1)c=n[e],u=n[t];else if(s==-1)c=n[t],u=n[e];else
for(let f=e;f<=t;f++){let p=n[f];o(p)&&(p<c?c=p:p>u&&(u=p))}return[c??ve,u??-ve]}function Ys(n,e,t,s){let l=Ei(
n),i=Ei(e);n==e&&(l==-1?(n*=t,e/=t):(n/=t,e*=t));let o=t==10?Yt:tr,c=l==1?pt:At,u=i==1?At:pt,f=c(o(Oe(n))),p=u(
o(Oe(e))),h=jn(t,f),b=jn(t,p);return t==10&&(f<0&&(h=ke(h,-f)),p<0&&(b=ke(b,-p))),s||t==2?(n=h*l,e=b*i):(n=or(
n,h),e=Ks(e,b)),[n,e]}function eo(n,e,t,s){let l=Ys(n,e,t,s);return n==0&&(l[0]=0),e==0&&(l[1]=0),l}var to=.1,
Ai={mode:3,pad:to},ps={pad:0,soft:null,mode:0},Ka={min:ps,max:ps};function Bs(n,e,t,s){return js(t)?Ti(n,e,t):
(ps.pad=t,ps.soft=s?0:null,ps.mode=s?3:0,Ti(n,e,Ka))}function ue(n,e){return n??e}function ja(n,e,t){for(e=ue(
e,0),t=ue(t,n.length-1);e<=t;){if(n[e]!=null)return!0;e++}return!1}function Ti(n,e,t){let s=t.min,l=t.max,i=ue(
s.pad,0),o=ue(l.pad,0),c=ue(s.hard,-ve),u=ue(l.hard,ve),f=ue(s.soft,ve),p=ue(l.soft,-ve),h=ue(s.mode,0),b=ue(l.
mode,0),S=e-n,M=Yt(S),w=it(Oe(n),Oe(e)),_=Yt(w),E=Oe(_-M);(S<1e-24||E>10)&&(S=0,(n==0||e==0)&&(S=1e-24,h==2&&f!=
ve&&(i=0),b==2&&p!=-ve&&(o=0)));let v=S||w||1e3,A=Yt(v),T=jn(10,pt(A)),$=v*(S==0?n==0?.1:1:i),k=ke(or(n-$,T/10),
24),z=n>=f&&(h==1||h==3&&k<=f||h==2&&k>=f)?f:ve,N=it(c,k<z&&n>=z?z:Ct(z,k)),F=v*(S==0?e==0?.1:1:o),j=ke(Ks(e+F,
T/10),24),C=e<=p&&(b==1||b==3&&j>=p||b==2&&j<=p)?p:-ve,ee=Ct(u,j>C&&e<=C?C:it(C,j));return N==ee&&N==0&&(ee=100),
[N,ee]}var qa=new Intl.NumberFormat(Qn?Ba.language:"en-US"),no=n=>qa.format(n),gt=Math,Vs=gt.PI,Oe=gt.abs,pt=gt.
floor,He=gt.round,At=gt.ceil,Ct=gt.min,it=gt.max,jn=gt.pow,Ei=gt.sign,Yt=gt.log10,tr=gt.log2,Ja=(n,e=1)=>gt.sinh(
n)*e,Fl=(n,e=1)=>gt.asinh(n/e),ve=1/0;function _i(n){return(Yt((n^n>>31)-(n>>31))|0)+1}function Gl(n,e,t){return Ct(
it(n,e),t)}function nr(n){return typeof n=="function"}function ie(n){return nr(n)?n:()=>n}var Za=()=>{},sr=n=>n,
lr=(n,e)=>e,Qa=n=>null,Li=n=>!0,$i=(n,e)=>n==e,Xa=/\.\d*?(?=9{6,}|0{6,})/gm,vn=n=>{if(rr(n)||sn.has(n))return n;
let e=`${n}`,t=e.match(Xa);if(t==null)return n;let s=t[0].length-1;if(e.indexOf("e-")!=-1){let[l,i]=e.split("e");
return+`${vn(l)}e${i}`}return ke(n,s)};function gn(n,e){return vn(ke(vn(n/e))*e)}function Ks(n,e){return vn(At(
vn(n/e))*e)}function or(n,e){return vn(pt(vn(n/e))*e)}function ke(n,e=0){if(rr(n))return n;let t=10**e,s=n*t*(1+
Number.EPSILON);return He(s)/t}var sn=new Map;function ir(n){return((""+n).split(".")[1]||"").length}function bs(n,e,t,s){
let l=[],i=s.map(ir);for(let o=e;o<t;o++){let c=Oe(o),u=ke(jn(n,o),c);for(let f=0;f<s.length;f++){let p=n==10?
+`${s[f]}e${o}`:s[f]*u,h=(o>=0?0:c)+(o>=i[f]?0:i[f]),b=n==10?p:ke(p,h);l.push(b),sn.set(b,h)}}return l}var gs={},
so=[],qn=[null,null],nn=Array.isArray,rr=Number.isInteger,ec=n=>n===void 0;function Pi(n){return typeof n=="st\
ring"}function js(n){let e=!1;if(n!=null){let t=n.constructor;e=t==null||t==Object}return e}function tc(n){return n!=
null&&typeof n=="object"}var nc=Object.getPrototypeOf(Uint8Array),ar="__proto__";function Jn(n,e=js){let t;if(nn(
n)){let s=n.find(l=>l!=null);if(nn(s)||e(s)){t=Array(n.length);for(let l=0;l<n.length;l++)t[l]=Jn(n[l],e)}else
t=n.slice()}else if(n instanceof nc)t=n.slice();else if(e(n)){t={};for(let s in n)s!=ar&&(t[s]=Jn(n[s],e))}else
t=n;return t}function ze(n){let e=arguments;for(let t=1;t<e.length;t++){let s=e[t];for(let l in s)l!=ar&&(js(n[l])?
ze(n[l],Jn(s[l])):n[l]=Jn(s[l]))}return n}var sc=0,lc=1,oc=2;function ic(n,e,t){for(let s=0,l,i=-1;s<e.length;s++){
let o=e[s];if(o>i){for(l=o-1;l>=0&&n[l]==null;)n[l--]=null;for(l=o+1;l<t&&n[l]==null;)n[i=l++]=null}}}function rc(n,e){
if(uc(n)){let o=n[0].slice();for(let c=1;c<n.length;c++)o.push(...n[c].slice(1));return fc(o[0])||(o=cc(o)),o}
let t=new Set;for(let o=0;o<n.length;o++){let u=n[o][0],f=u.length;for(let p=0;p<f;p++)t.add(u[p])}let s=[Array.
from(t).sort((o,c)=>o-c)],l=s[0].length,i=new Map;for(let o=0;o<l;o++)i.set(s[0][o],o);for(let o=0;o<n.length;o++){
let c=n[o],u=c[0];for(let f=1;f<c.length;f++){let p=c[f],h=Array(l).fill(void 0),b=e?e[o][f]:lc,S=[];for(let M=0;M<
p.length;M++){let w=p[M],_=i.get(u[M]);w===null?b!=sc&&(h[_]=w,b==oc&&S.push(_)):h[_]=w}ic(h,S,l),s.push(h)}}return s}
var ac=typeof queueMicrotask>"u"?n=>Promise.resolve().then(n):queueMicrotask;function cc(n){let e=n[0],t=e.length,
s=Array(t);for(let i=0;i<s.length;i++)s[i]=i;s.sort((i,o)=>e[i]-e[o]);let l=[];for(let i=0;i<n.length;i++){let o=n[i],
c=Array(t);for(let u=0;u<t;u++)c[u]=o[s[u]];l.push(c)}return l}function uc(n){let e=n[0][0],t=e.length;for(let s=1;s<
n.length;s++){let l=n[s][0];if(l.length!=t)return!1;if(l!=e){for(let i=0;i<t;i++)if(l[i]!=e[i])return!1}}return!0}
function fc(n,e=100){let t=n.length;if(t<=1)return!0;let s=0,l=t-1;for(;s<=l&&n[s]==null;)s++;for(;l>=s&&n[l]==
null;)l--;if(l<=s)return!0;let i=it(1,pt((l-s+1)/e));for(let o=n[s],c=s+i;c<=l;c+=i){let u=n[c];if(u!=null){if(u<=
o)return!1;o=u}}return!0}var cr=["January","February","March","April","May","June","July","August","September",
"October","November","December"],ur=["Sunday","Monday","Tuesday","Wednesday","Thursday","Friday","Saturday"];function fr(n){
return n.slice(0,3)}var hc=ur.map(fr),mc=cr.map(fr),dc={MMMM:cr,MMM:mc,WWWW:ur,WWW:hc};function fs(n){return(n<
10?"0":"")+n}function pc(n){return(n<10?"00":n<100?"0":"")+n}var gc={YYYY:n=>n.getFullYear(),YY:n=>(n.getFullYear()+
"").slice(2),MMMM:(n,e)=>e.MMMM[n.getMonth()],MMM:(n,e)=>e.MMM[n.getMonth()],MM:n=>fs(n.getMonth()+1),M:n=>n.getMonth()+
1,DD:n=>fs(n.getDate()),D:n=>n.getDate(),WWWW:(n,e)=>e.WWWW[n.getDay()],WWW:(n,e)=>e.WWW[n.getDay()],HH:n=>fs(
n.getHours()),H:n=>n.getHours(),h:n=>{let e=n.getHours();return e==0?12:e>12?e-12:e},AA:n=>n.getHours()>=12?"P\
M":"AM",aa:n=>n.getHours()>=12?"pm":"am",a:n=>n.getHours()>=12?"p":"a",mm:n=>fs(n.getMinutes()),m:n=>n.getMinutes(),
ss:n=>fs(n.getSeconds()),s:n=>n.getSeconds(),fff:n=>pc(n.getMilliseconds())};function lo(n,e){e=e||dc;let t=[],
s=/\{([a-z]+)\}|[^{]+/gi,l;for(;l=s.exec(n);)t.push(l[0][0]=="{"?gc[l[1]]:l[0]);return i=>{let o="";for(let c=0;c<
t.length;c++)o+=typeof t[c]=="string"?t[c]:t[c](i,e);return o}}var bc=new Intl.DateTimeFormat().resolvedOptions().
timeZone;function yc(n,e){let t;return e=="UTC"||e=="Etc/UTC"?t=new Date(+n+n.getTimezoneOffset()*6e4):e==bc?t=
n:(t=new Date(n.toLocaleString("en-US",{timeZone:e})),t.setMilliseconds(n.getMilliseconds())),t}var hr=n=>n%1==
0,Is=[1,2,2.5,5],wc=bs(10,-32,0,Is),mr=bs(10,0,32,Is),vc=mr.filter(hr),bn=wc.concat(mr),oo=`
`,dr="{YYYY}",Ci=oo+dr,pr="{M}/{D}",ds=oo+pr,Hs=ds+"/{YY}",gr="{aa}",kc="{h}:{mm}",Yn=kc+gr,Di=oo+Yn,Ni=":{ss}",
ge=null;function br(n){let e=n*1e3,t=e*60,s=t*60,l=s*24,i=l*30,o=l*365,u=(n==1?bs(10,0,3,Is).filter(hr):bs(10,
-3,0,Is)).concat([e,e*5,e*10,e*15,e*30,t,t*5,t*10,t*15,t*30,s,s*2,s*3,s*4,s*6,s*8,s*12,l,l*2,l*3,l*4,l*5,l*6,l*
7,l*8,l*9,l*10,l*15,i,i*2,i*3,i*4,i*6,o,o*2,o*5,o*10,o*25,o*50,o*100]),f=[[o,dr,ge,ge,ge,ge,ge,ge,1],[l*28,"{M\
MM}",Ci,ge,ge,ge,ge,ge,1],[l,pr,Ci,ge,ge,ge,ge,ge,1],[s,"{h}"+gr,Hs,ge,ds,ge,ge,ge,1],[t,Yn,Hs,ge,ds,ge,ge,ge,
1],[e,Ni,Hs+" "+Yn,ge,ds+" "+Yn,ge,Di,ge,1],[n,Ni+".{fff}",Hs+" "+Yn,ge,ds+" "+Yn,ge,Di,ge,1]];function p(h){return(b,S,M,w,_,E)=>{
let v=[],A=_>=o,T=_>=i&&_<o,$=h(M),k=ke($*n,3),z=Ul($.getFullYear(),A?0:$.getMonth(),T||A?1:$.getDate()),N=ke(
z*n,3);if(T||A){let F=T?_/i:0,j=A?_/o:0,C=k==N?k:ke(Ul(z.getFullYear()+j,z.getMonth()+F,1)*n,3),ee=new Date(He(
C/n)),G=ee.getFullYear(),J=ee.getMonth();for(let Y=0;C<=w;Y++){let Q=Ul(G+j*Y,J+F*Y,1),I=Q-h(ke(Q*n,3));C=ke((+Q+
I)*n,3),C<=w&&v.push(C)}}else{let F=_>=l?l:_,j=pt(M)-pt(k),C=N+j+Ks(k-N,F);v.push(C);let ee=h(C),G=ee.getHours()+
ee.getMinutes()/t+ee.getSeconds()/s,J=_/s,Y=b.axes[S]._space,Q=E/Y;for(;C=ke(C+_,n==1?0:3),!(C>w);)if(J>1){let I=pt(
ke(G+J,6))%24,se=h(C).getHours()-I;se>1&&(se=-1),C-=se*s,G=(G+J)%24;let V=v[v.length-1];ke((C-V)/_,3)*Q>=.7&&v.
push(C)}else v.push(C)}return v}}return[u,f,p]}var[xc,Sc,Mc]=br(1),[Ac,Tc,Ec]=br(.001);bs(2,-53,53,[1]);function zi(n,e){
return n.map(t=>t.map((s,l)=>l==0||l==8||s==null?s:e(l==1||t[8]==0?s:t[1]+s)))}function Ri(n,e){return(t,s,l,i,o)=>{
let c=e.find(M=>o>=M[0])||e[e.length-1],u,f,p,h,b,S;return s.map(M=>{let w=n(M),_=w.getFullYear(),E=w.getMonth(),
v=w.getDate(),A=w.getHours(),T=w.getMinutes(),$=w.getSeconds(),k=_!=u&&c[2]||E!=f&&c[3]||v!=p&&c[4]||A!=h&&c[5]||
T!=b&&c[6]||$!=S&&c[7]||c[1];return u=_,f=E,p=v,h=A,b=T,S=$,k(w)})}}function _c(n,e){let t=lo(e);return(s,l,i,o,c)=>l.
map(u=>t(n(u)))}function Ul(n,e,t){return new Date(n,e,t)}function Fi(n,e){return e(n)}var Lc="{YYYY}-{MM}-{DD\
} {h}:{mm}{aa}";function Ui(n,e){return(t,s,l,i)=>i==null?Ql:e(n(s))}function $c(n,e){let t=n.series[e];return t.
width?t.stroke(n,e):t.points.width?t.points.stroke(n,e):null}function Pc(n,e){return n.series[e].fill(n,e)}var Cc={
show:!0,live:!0,isolate:!1,mount:Za,markers:{show:!0,width:2,stroke:$c,fill:Pc,dash:"solid"},idx:null,idxs:null,
values:[]};function Dc(n,e){let t=n.cursor.points,s=Mt(),l=t.size(n,e);Te(s,hs,l),Te(s,ms,l);let i=l/-2;Te(s,"\
marginLeft",i),Te(s,"marginTop",i);let o=t.width(n,e,l);return o&&Te(s,"borderWidth",o),s}function Nc(n,e){let t=n.
series[e].points;return t._fill||t._stroke}function zc(n,e){let t=n.series[e].points;return t._stroke||t._fill}
function Rc(n,e){return n.series[e].points.size}var Hl=[0,0];function Fc(n,e,t){return Hl[0]=e,Hl[1]=t,Hl}function Os(n,e,t,s=!0){
return l=>{l.button==0&&(!s||l.target==e)&&t(l)}}function Ol(n,e,t,s=!0){return l=>{(!s||l.target==e)&&t(l)}}var Uc={
show:!0,x:!0,y:!0,lock:!1,move:Fc,points:{one:!1,show:Dc,size:Rc,width:0,stroke:zc,fill:Nc},bind:{mousedown:Os,
mouseup:Os,click:Os,dblclick:Os,mousemove:Ol,mouseleave:Ol,mouseenter:Ol},drag:{setScale:!0,x:!0,y:!1,dist:0,uni:null,
click:(n,e)=>{e.stopPropagation(),e.stopImmediatePropagation()},_x:!1,_y:!1},focus:{dist:(n,e,t,s,l)=>s-l,prox:-1,
bias:0},hover:{skip:[void 0],prox:null,bias:0},left:-10,top:-10,idx:null,dataIdx:null,idxs:null,event:null},yr={
show:!0,stroke:"rgba(0,0,0,0.07)",width:2},io=ze({},yr,{filter:lr}),wr=ze({},io,{size:10}),vr=ze({},yr,{show:!1}),
ro='12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif, "Appl\
e Color Emoji", "Segoe UI Emoji", "Segoe UI Symbol", "Noto Color Emoji"',kr="bold "+ro,xr=1.5,Hi={show:!0,scale:"\
x",stroke:Zl,space:50,gap:5,alignTo:1,size:50,labelGap:0,labelSize:30,labelFont:kr,side:2,grid:io,ticks:wr,border:vr,
font:ro,lineGap:xr,rotate:0},Hc="Value",Oc="Time",Oi={show:!0,scale:"x",auto:!1,sorted:1,min:ve,max:-ve,idxs:[]};
function Vc(n,e,t,s,l){return e.map(i=>i==null?"":no(i))}function Wc(n,e,t,s,l,i,o){let c=[],u=sn.get(l)||0;t=
o?t:ke(Ks(t,l),u);for(let f=t;f<=s;f=ke(f+l,u))c.push(Object.is(f,-0)?0:f);return c}function Yl(n,e,t,s,l,i,o){
let c=[],u=n.scales[n.axes[e].scale].log,f=u==10?Yt:tr,p=pt(f(t));l=jn(u,p),u==10&&(l=bn[Pt(l,bn)]);let h=t,b=l*
u;u==10&&(b=bn[Pt(b,bn)]);do c.push(h),h=h+l,u==10&&!sn.has(h)&&(h=ke(h,sn.get(l))),h>=b&&(l=h,b=l*u,u==10&&(b=
bn[Pt(b,bn)]));while(h<=s);return c}function Bc(n,e,t,s,l,i,o){let u=n.scales[n.axes[e].scale].asinh,f=s>u?Yl(
n,e,it(u,t),s,l):[u],p=s>=0&&t<=0?[0]:[];return(t<-u?Yl(n,e,it(u,-s),-t,l):[u]).reverse().map(b=>-b).concat(p,
f)}var Sr=/./,Ic=/[12357]/,Gc=/[125]/,Vi=/1/,Kl=(n,e,t,s)=>n.map((l,i)=>e==4&&l==0||i%s==0&&t.test(l.toExponential()[l<
0?1:0])?l:null);function Yc(n,e,t,s,l){let i=n.axes[t],o=i.scale,c=n.scales[o],u=n.valToPos,f=i._space,p=u(10,
o),h=u(9,o)-p>=f?Sr:u(7,o)-p>=f?Ic:u(5,o)-p>=f?Gc:Vi;if(h==Vi){let b=Oe(u(1,o)-p);if(b<f)return Kl(e.slice().reverse(),
c.distr,h,At(f/b)).reverse()}return Kl(e,c.distr,h,1)}function Kc(n,e,t,s,l){let i=n.axes[t],o=i.scale,c=i._space,
u=n.valToPos,f=Oe(u(1,o)-u(2,o));return f<c?Kl(e.slice().reverse(),3,Sr,At(c/f)).reverse():e}function jc(n,e,t,s){
return s==null?Ql:e==null?"":no(e)}var Wi={show:!0,scale:"y",stroke:Zl,space:30,gap:5,alignTo:1,size:50,labelGap:0,
labelSize:30,labelFont:kr,side:3,grid:io,ticks:wr,border:vr,font:ro,lineGap:xr,rotate:0};function qc(n,e){let t=3+
(n||1)*2;return ke(t*e,3)}function Jc(n,e){let{scale:t,idxs:s}=n.series[0],l=n._data[0],i=n.valToPos(l[s[0]],t,
!0),o=n.valToPos(l[s[1]],t,!0),c=Oe(o-i),u=n.series[e],f=c/(u.points.space*de);return s[1]-s[0]<=f}var Bi={scale:null,
auto:!0,sorted:0,min:ve,max:-ve},Mr=(n,e,t,s,l)=>l,Ii={show:!0,auto:!0,sorted:0,gaps:Mr,alpha:1,facets:[ze({},
Bi,{scale:"x"}),ze({},Bi,{scale:"y"})]},Gi={scale:"y",auto:!0,sorted:0,show:!0,spanGaps:!1,gaps:Mr,alpha:1,points:{
show:Jc,filter:null},values:null,min:ve,max:-ve,idxs:[],path:null,clip:null};function Zc(n,e,t,s,l){return t/10}
var Ar={time:!0,auto:!0,distr:1,log:10,asinh:1,min:null,max:null,dir:1,ori:0},Qc=ze({},Ar,{time:!1,ori:1}),Yi={};
function Tr(n,e){let t=Yi[n];return t||(t={key:n,plots:[],sub(s){t.plots.push(s)},unsub(s){t.plots=t.plots.filter(
l=>l!=s)},pub(s,l,i,o,c,u,f){for(let p=0;p<t.plots.length;p++)t.plots[p]!=l&&t.plots[p].pub(s,l,i,o,c,u,f)}},n!=
null&&(Yi[n]=t)),t}var Zn=1,jl=2;function kn(n,e,t){let s=n.mode,l=n.series[e],i=s==2?n._data[e]:n._data,o=n.scales,
c=n.bbox,u=i[0],f=s==2?i[1]:i[e],p=s==2?o[l.facets[0].scale]:o[n.series[0].scale],h=s==2?o[l.facets[1].scale]:
o[l.scale],b=c.left,S=c.top,M=c.width,w=c.height,_=n.valToPosH,E=n.valToPosV;return p.ori==0?t(l,u,f,p,h,_,E,b,
S,M,w,Js,Xn,Qs,_r,$r):t(l,u,f,p,h,E,_,S,b,w,M,Zs,es,uo,Lr,Pr)}function ao(n,e){let t=0,s=0,l=ue(n.bands,so);for(let i=0;i<
l.length;i++){let o=l[i];o.series[0]==e?t=o.dir:o.series[1]==e&&(o.dir==1?s|=1:s|=2)}return[t,s==1?-1:s==2?1:s==
3?2:0]}function Xc(n,e,t,s,l){let i=n.mode,o=n.series[e],c=i==2?o.facets[1].scale:o.scale,u=n.scales[c];return l==
-1?u.min:l==1?u.max:u.distr==3?u.dir==1?u.min:u.max:0}function Kt(n,e,t,s,l,i){return kn(n,e,(o,c,u,f,p,h,b,S,M,w,_)=>{
let E=o.pxRound,v=f.dir*(f.ori==0?1:-1),A=f.ori==0?Xn:es,T,$;v==1?(T=t,$=s):(T=s,$=t);let k=E(h(c[T],f,w,S)),z=E(
b(u[T],p,_,M)),N=E(h(c[$],f,w,S)),F=E(b(i==1?p.max:p.min,p,_,M)),j=new Path2D(l);return A(j,N,F),A(j,k,F),A(j,
k,z),j})}function qs(n,e,t,s,l,i){let o=null;if(n.length>0){o=new Path2D;let c=e==0?Qs:uo,u=t;for(let h=0;h<n.
length;h++){let b=n[h];if(b[1]>b[0]){let S=b[0]-u;S>0&&c(o,u,s,S,s+i),u=b[1]}}let f=t+l-u,p=10;f>0&&c(o,u,s-p/
2,f,s+i+p)}return o}function eu(n,e,t){let s=n[n.length-1];s&&s[0]==e?s[1]=t:n.push([e,t])}function co(n,e,t,s,l,i,o){
let c=[],u=n.length;for(let f=l==1?t:s;f>=t&&f<=s;f+=l)if(e[f]===null){let h=f,b=f;if(l==1)for(;++f<=s&&e[f]===
null;)b=f;else for(;--f>=t&&e[f]===null;)b=f;let S=i(n[h]),M=b==h?S:i(n[b]),w=h-l;S=o<=0&&w>=0&&w<u?i(n[w]):S;
let E=b+l;M=o>=0&&E>=0&&E<u?i(n[E]):M,M>=S&&c.push([S,M])}return c}function Ki(n){return n==0?sr:n==1?He:e=>gn(
e,n)}function Er(n){let e=n==0?Js:Zs,t=n==0?(l,i,o,c,u,f)=>{l.arcTo(i,o,c,u,f)}:(l,i,o,c,u,f)=>{l.arcTo(o,i,u,
c,f)},s=n==0?(l,i,o,c,u)=>{l.rect(i,o,c,u)}:(l,i,o,c,u)=>{l.rect(o,i,u,c)};return(l,i,o,c,u,f=0,p=0)=>{f==0&&p==
0?s(l,i,o,c,u):(f=Ct(f,c/2,u/2),p=Ct(p,c/2,u/2),e(l,i+f,o),t(l,i+c,o,i+c,o+u,f),t(l,i+c,o+u,i,o+u,p),t(l,i,o+u,
i,o,p),t(l,i,o,i+c,o,f),l.closePath())}}var Js=(n,e,t)=>{n.moveTo(e,t)},Zs=(n,e,t)=>{n.moveTo(t,e)},Xn=(n,e,t)=>{
n.lineTo(e,t)},es=(n,e,t)=>{n.lineTo(t,e)},Qs=Er(0),uo=Er(1),_r=(n,e,t,s,l,i)=>{n.arc(e,t,s,l,i)},Lr=(n,e,t,s,l,i)=>{
n.arc(t,e,s,l,i)},$r=(n,e,t,s,l,i,o)=>{n.bezierCurveTo(e,t,s,l,i,o)},Pr=(n,e,t,s,l,i,o)=>{n.bezierCurveTo(t,e,
l,s,o,i)};function Cr(n){return(e,t,s,l,i)=>kn(e,t,(o,c,u,f,p,h,b,S,M,w,_)=>{let{pxRound:E,points:v}=o,A,T;f.ori==
0?(A=Js,T=_r):(A=Zs,T=Lr);let $=ke(v.width*de,3),k=(v.size-v.width)/2*de,z=ke(k*2,3),N=new Path2D,F=new Path2D,
{left:j,top:C,width:ee,height:G}=e.bbox;Qs(F,j-z,C-z,ee+z*2,G+z*2);let J=Y=>{if(u[Y]!=null){let Q=E(h(c[Y],f,w,
S)),I=E(b(u[Y],p,_,M));A(N,Q+k,I),T(N,Q,I,k,0,Vs*2)}};if(i)i.forEach(J);else for(let Y=s;Y<=l;Y++)J(Y);return{
stroke:$>0?N:null,fill:N,clip:F,flags:Zn|jl}})}function Dr(n){return(e,t,s,l,i,o)=>{s!=l&&(i!=s&&o!=s&&n(e,t,s),
i!=l&&o!=l&&n(e,t,l),n(e,t,o))}}var tu=Dr(Xn),nu=Dr(es);function Nr(n){let e=ue(n?.alignGaps,0);return(t,s,l,i)=>kn(
t,s,(o,c,u,f,p,h,b,S,M,w,_)=>{[l,i]=Gs(u,l,i);let E=o.pxRound,v=G=>E(h(G,f,w,S)),A=G=>E(b(G,p,_,M)),T,$;f.ori==
0?(T=Xn,$=tu):(T=es,$=nu);let k=f.dir*(f.ori==0?1:-1),z={stroke:new Path2D,fill:null,clip:null,band:null,gaps:null,
flags:Zn},N=z.stroke,F=!1;if(i-l>=w*4){let G=W=>t.posToVal(W,f.key,!0),J=null,Y=null,Q,I,Re,ae=v(c[k==1?l:i]),
se=v(c[l]),V=v(c[i]),R=G(k==1?se+1:V-1);for(let W=k==1?l:i;W>=l&&W<=i;W+=k){let re=c[W],fe=(k==1?re<R:re>R)?ae:
v(re),ne=u[W];fe==ae?ne!=null?(I=ne,J==null?(T(N,fe,A(I)),Q=J=Y=I):I<J?J=I:I>Y&&(Y=I)):ne===null&&(F=!0):(J!=null&&
$(N,ae,A(J),A(Y),A(Q),A(I)),ne!=null?(I=ne,T(N,fe,A(I)),J=Y=Q=I):(J=Y=null,ne===null&&(F=!0)),ae=fe,R=G(ae+k))}
J!=null&&J!=Y&&Re!=ae&&$(N,ae,A(J),A(Y),A(Q),A(I))}else for(let G=k==1?l:i;G>=l&&G<=i;G+=k){let J=u[G];J===null?
F=!0:J!=null&&T(N,v(c[G]),A(J))}let[C,ee]=ao(t,s);if(o.fill!=null||C!=0){let G=z.fill=new Path2D(N),J=o.fillTo(
t,s,o.min,o.max,C),Y=A(J),Q=v(c[l]),I=v(c[i]);k==-1&&([I,Q]=[Q,I]),T(G,I,Y),T(G,Q,Y)}if(!o.spanGaps){let G=[];
F&&G.push(...co(c,u,l,i,k,v,e)),z.gaps=G=o.gaps(t,s,l,i,G),z.clip=qs(G,f.ori,S,M,w,_)}return ee!=0&&(z.band=ee==
2?[Kt(t,s,l,i,N,-1),Kt(t,s,l,i,N,1)]:Kt(t,s,l,i,N,ee)),z})}function su(n){let e=ue(n.align,1),t=ue(n.ascDesc,!1),
s=ue(n.alignGaps,0),l=ue(n.extend,!1);return(i,o,c,u)=>kn(i,o,(f,p,h,b,S,M,w,_,E,v,A)=>{[c,u]=Gs(h,c,u);let T=f.
pxRound,{left:$,width:k}=i.bbox,z=se=>T(M(se,b,v,_)),N=se=>T(w(se,S,A,E)),F=b.ori==0?Xn:es,j={stroke:new Path2D,
fill:null,clip:null,band:null,gaps:null,flags:Zn},C=j.stroke,ee=b.dir*(b.ori==0?1:-1),G=N(h[ee==1?c:u]),J=z(p[ee==
1?c:u]),Y=J,Q=J;l&&e==-1&&(Q=$,F(C,Q,G)),F(C,J,G);for(let se=ee==1?c:u;se>=c&&se<=u;se+=ee){let V=h[se];if(V==
null)continue;let R=z(p[se]),W=N(V);e==1?F(C,R,G):F(C,Y,W),F(C,R,W),G=W,Y=R}let I=Y;l&&e==1&&(I=$+k,F(C,I,G));
let[Re,ae]=ao(i,o);if(f.fill!=null||Re!=0){let se=j.fill=new Path2D(C),V=f.fillTo(i,o,f.min,f.max,Re),R=N(V);F(
se,I,R),F(se,Q,R)}if(!f.spanGaps){let se=[];se.push(...co(p,h,c,u,ee,z,s));let V=f.width*de/2,R=t||e==1?V:-V,W=t||
e==-1?-V:V;se.forEach(re=>{re[0]+=R,re[1]+=W}),j.gaps=se=f.gaps(i,o,c,u,se),j.clip=qs(se,b.ori,_,E,v,A)}return ae!=
0&&(j.band=ae==2?[Kt(i,o,c,u,C,-1),Kt(i,o,c,u,C,1)]:Kt(i,o,c,u,C,ae)),j})}function ji(n,e,t,s,l,i,o=ve){if(n.length>
1){let c=null;for(let u=0,f=1/0;u<n.length;u++)if(e[u]!==void 0){if(c!=null){let p=Oe(n[u]-n[c]);p<f&&(f=p,o=Oe(
t(n[u],s,l,i)-t(n[c],s,l,i)))}c=u}}return o}function lu(n){n=n||gs;let e=ue(n.size,[.6,ve,1]),t=n.align||0,s=n.
gap||0,l=n.radius;l=l==null?[0,0]:typeof l=="number"?[l,0]:l;let i=ie(l),o=1-e[0],c=ue(e[1],ve),u=ue(e[2],1),f=ue(
n.disp,gs),p=ue(n.each,S=>{}),{fill:h,stroke:b}=f;return(S,M,w,_)=>kn(S,M,(E,v,A,T,$,k,z,N,F,j,C)=>{let ee=E.pxRound,
G=t,J=s*de,Y=c*de,Q=u*de,I,Re;T.ori==0?[I,Re]=i(S,M):[Re,I]=i(S,M);let ae=T.dir*(T.ori==0?1:-1),se=T.ori==0?Qs:
uo,V=T.ori==0?p:(O,xe,Fe,An,rn,Nt,an)=>{p(O,xe,Fe,rn,An,an,Nt)},R=ue(S.bands,so).find(O=>O.series[0]==M),W=R!=
null?R.dir:0,re=E.fillTo(S,M,E.min,E.max,W),ye=ee(z(re,$,C,F)),fe,ne,_e,Xe=j,we=ee(E.width*de),Dt=!1,Wt=null,bt=null,
jt=null,xn=null;h!=null&&(we==0||b!=null)&&(Dt=!0,Wt=h.values(S,M,w,_),bt=new Map,new Set(Wt).forEach(O=>{O!=null&&
bt.set(O,new Path2D)}),we>0&&(jt=b.values(S,M,w,_),xn=new Map,new Set(jt).forEach(O=>{O!=null&&xn.set(O,new Path2D)})));
let{x0:Sn,size:ts}=f;if(Sn!=null&&ts!=null){G=1,v=Sn.values(S,M,w,_),Sn.unit==2&&(v=v.map(Fe=>S.posToVal(N+Fe*
j,T.key,!0)));let O=ts.values(S,M,w,_);ts.unit==2?ne=O[0]*j:ne=k(O[0],T,j,N)-k(0,T,j,N),Xe=ji(v,A,k,T,j,N,Xe),
_e=Xe-ne+J}else Xe=ji(v,A,k,T,j,N,Xe),_e=Xe*o+J,ne=Xe-_e;_e<1&&(_e=0),we>=ne/2&&(we=0),_e<5&&(ee=sr);let ys=_e>
0,ln=Xe-_e-(ys?we:0);ne=ee(Gl(ln,Q,Y)),fe=(G==0?ne/2:G==ae?0:ne)-G*ae*((G==0?J/2:0)+(ys?we/2:0));let nt={stroke:null,
fill:null,clip:null,band:null,gaps:null,flags:0},Mn=Dt?null:new Path2D,Bt=null;if(R!=null)Bt=S.data[R.series[1]];else{
let{y0:O,y1:xe}=f;O!=null&&xe!=null&&(A=xe.values(S,M,w,_),Bt=O.values(S,M,w,_))}let on=I*ne,te=Re*ne;for(let O=ae==
1?w:_;O>=w&&O<=_;O+=ae){let xe=A[O];if(xe==null)continue;if(Bt!=null){let rt=Bt[O]??0;if(xe-rt==0)continue;ye=
z(rt,$,C,F)}let Fe=T.distr!=2||f!=null?v[O]:O,An=k(Fe,T,j,N),rn=z(ue(xe,re),$,C,F),Nt=ee(An-fe),an=ee(it(rn,ye)),
ct=ee(Ct(rn,ye)),yt=an-ct;if(xe!=null){let rt=xe<0?te:on,Tt=xe<0?on:te;Dt?(we>0&&jt[O]!=null&&se(xn.get(jt[O]),
Nt,ct+pt(we/2),ne,it(0,yt-we),rt,Tt),Wt[O]!=null&&se(bt.get(Wt[O]),Nt,ct+pt(we/2),ne,it(0,yt-we),rt,Tt)):se(Mn,
Nt,ct+pt(we/2),ne,it(0,yt-we),rt,Tt),V(S,M,O,Nt-we/2,ct,ne+we,yt)}}return we>0?nt.stroke=Dt?xn:Mn:Dt||(nt._fill=
E.width==0?E._fill:E._stroke??E._fill,nt.width=0),nt.fill=Dt?bt:Mn,nt})}function ou(n,e){let t=ue(e?.alignGaps,
0);return(s,l,i,o)=>kn(s,l,(c,u,f,p,h,b,S,M,w,_,E)=>{[i,o]=Gs(f,i,o);let v=c.pxRound,A=I=>v(b(I,p,_,M)),T=I=>v(
S(I,h,E,w)),$,k,z;p.ori==0?($=Js,z=Xn,k=$r):($=Zs,z=es,k=Pr);let N=p.dir*(p.ori==0?1:-1),F=A(u[N==1?i:o]),j=F,
C=[],ee=[];for(let I=N==1?i:o;I>=i&&I<=o;I+=N)if(f[I]!=null){let ae=u[I],se=A(ae);C.push(j=se),ee.push(T(f[I]))}
let G={stroke:n(C,ee,$,z,k,v),fill:null,clip:null,band:null,gaps:null,flags:Zn},J=G.stroke,[Y,Q]=ao(s,l);if(c.
fill!=null||Y!=0){let I=G.fill=new Path2D(J),Re=c.fillTo(s,l,c.min,c.max,Y),ae=T(Re);z(I,j,ae),z(I,F,ae)}if(!c.
spanGaps){let I=[];I.push(...co(u,f,i,o,N,A,t)),G.gaps=I=c.gaps(s,l,i,o,I),G.clip=qs(I,p.ori,M,w,_,E)}return Q!=
0&&(G.band=Q==2?[Kt(s,l,i,o,J,-1),Kt(s,l,i,o,J,1)]:Kt(s,l,i,o,J,Q)),G})}function iu(n){return ou(ru,n)}function ru(n,e,t,s,l,i){
let o=n.length;if(o<2)return null;let c=new Path2D;if(t(c,n[0],e[0]),o==2)s(c,n[1],e[1]);else{let u=Array(o),f=Array(
o-1),p=Array(o-1),h=Array(o-1);for(let b=0;b<o-1;b++)p[b]=e[b+1]-e[b],h[b]=n[b+1]-n[b],f[b]=p[b]/h[b];u[0]=f[0];
for(let b=1;b<o-1;b++)f[b]===0||f[b-1]===0||f[b-1]>0!=f[b]>0?u[b]=0:(u[b]=3*(h[b-1]+h[b])/((2*h[b]+h[b-1])/f[b-
1]+(h[b]+2*h[b-1])/f[b]),isFinite(u[b])||(u[b]=0));u[o-1]=f[o-2];for(let b=0;b<o-1;b++)l(c,n[b]+h[b]/3,e[b]+u[b]*
h[b]/3,n[b+1]-h[b]/3,e[b+1]-u[b+1]*h[b]/3,n[b+1],e[b+1])}return c}var ql=new Set;function qi(){for(let n of ql)
n.syncRect(!0)}Qn&&(wn(Va,Kn,qi),wn(Wa,Kn,qi,!0),wn(Ws,Kn,()=>{Ve.pxRatio=de}));var au=Nr(),cu=Cr();function Ji(n,e,t,s){
return(s?[n[0],n[1]].concat(n.slice(2)):[n[0]].concat(n.slice(1))).map((i,o)=>Jl(i,o,e,t))}function uu(n,e){return n.
map((t,s)=>s==0?{}:ze({},e,t))}function Jl(n,e,t,s){return ze({},e==0?t:s,n)}function zr(n,e,t){return e==null?
qn:[e,t]}var fu=zr;function hu(n,e,t){return e==null?qn:Bs(e,t,to,!0)}function Rr(n,e,t,s){return e==null?qn:Ys(
e,t,n.scales[s].log,!1)}var mu=Rr;function Fr(n,e,t,s){return e==null?qn:eo(e,t,n.scales[s].log,!1)}var du=Fr;
function pu(n,e,t,s,l){let i=it(_i(n),_i(e)),o=e-n,c=Pt(l/s*o,t);do{let u=t[c],f=s*u/o;if(f>=l&&i+(u<5?sn.get(
u):0)<=17)return[u,f]}while(++c<t.length);return[0,0]}function Zi(n){let e,t;return n=n.replace(/(\d+)px/,(s,l)=>(e=
He((t=+l)*de))+"px"),[n,e,t]}function gu(n){n.show&&[n.font,n.labelFont].forEach(e=>{let t=ke(e[2]*de,1);e[0]=
e[0].replace(/[0-9.]+px/,t+"px"),e[1]=t})}function Ve(n,e,t){let s={mode:ue(n.mode,1)},l=s.mode;function i(r,a,d,g){
let y=a.valToPct(r);return g+d*(a.dir==-1?1-y:y)}function o(r,a,d,g){let y=a.valToPct(r);return g+d*(a.dir==-1?
y:1-y)}function c(r,a,d,g){return a.ori==0?i(r,a,d,g):o(r,a,d,g)}s.valToPosH=i,s.valToPosV=o;let u=!1;s.status=
0;let f=s.root=Mt(Sa);if(n.id!=null&&(f.id=n.id),dt(f,n.class),n.title){let r=Mt(Ta,f);r.textContent=n.title}let p=$t(
"canvas"),h=s.ctx=p.getContext("2d"),b=Mt(Ea,f);wn("click",b,r=>{r.target===M&&(Se!=Rn||Ee!=Fn)&&qe.click(s,r)},
!0);let S=s.under=Mt(_a,b);b.appendChild(p);let M=s.over=Mt(La,b);n=Jn(n);let w=+ue(n.pxAlign,1),_=Ki(w);(n.plugins||
[]).forEach(r=>{r.opts&&(n=r.opts(s,n)||n)});let E=n.ms||.001,v=s.series=l==1?Ji(n.series||[],Oi,Gi,!1):uu(n.series||
[null],Ii),A=s.axes=Ji(n.axes||[],Hi,Wi,!0),T=s.scales={},$=s.bands=n.bands||[];$.forEach(r=>{r.fill=ie(r.fill||
null),r.dir=ue(r.dir,-1)});let k=l==2?v[1].facets[0].scale:v[0].scale,z={axes:ea,series:qr},N=(n.drawOrder||["\
axes","series"]).map(r=>z[r]);function F(r){let a=r.distr==3?d=>Yt(d>0?d:r.clamp(s,d,r.min,r.max,r.key)):r.distr==
4?d=>Fl(d,r.asinh):r.distr==100?d=>r.fwd(d):d=>d;return d=>{let g=a(d),{_min:y,_max:x}=r,L=x-y;return(g-y)/L}}
function j(r){let a=T[r];if(a==null){let d=(n.scales||gs)[r]||gs;if(d.from!=null){j(d.from);let g=ze({},T[d.from],
d,{key:r});g.valToPct=F(g),T[r]=g}else{a=T[r]=ze({},r==k?Ar:Qc,d),a.key=r;let g=a.time,y=a.range,x=nn(y);if((r!=
k||l==2&&!g)&&(x&&(y[0]==null||y[1]==null)&&(y={min:y[0]==null?Ai:{mode:1,hard:y[0],soft:y[0]},max:y[1]==null?
Ai:{mode:1,hard:y[1],soft:y[1]}},x=!1),!x&&js(y))){let L=y;y=(P,D,U)=>D==null?qn:Bs(D,U,L)}a.range=ie(y||(g?fu:
r==k?a.distr==3?mu:a.distr==4?du:zr:a.distr==3?Rr:a.distr==4?Fr:hu)),a.auto=ie(x?!1:a.auto),a.clamp=ie(a.clamp||
Zc),a._min=a._max=null,a.valToPct=F(a)}}}j("x"),j("y"),l==1&&v.forEach(r=>{j(r.scale)}),A.forEach(r=>{j(r.scale)});
for(let r in n.scales)j(r);let C=T[k],ee=C.distr,G,J;C.ori==0?(dt(f,Ma),G=i,J=o):(dt(f,Aa),G=o,J=i);let Y={};for(let r in T){
let a=T[r];(a.min!=null||a.max!=null)&&(Y[r]={min:a.min,max:a.max},a.min=a.max=null)}let Q=n.tzDate||(r=>new Date(
He(r/E))),I=n.fmtDate||lo,Re=E==1?Mc(Q):Ec(Q),ae=Ri(Q,zi(E==1?Sc:Tc,I)),se=Ui(Q,Fi(Lc,I)),V=[],R=s.legend=ze({},
Cc,n.legend),W=s.cursor=ze({},Uc,{drag:{y:l==2}},n.cursor),re=R.show,ye=W.show,fe=R.markers;R.idxs=V,fe.width=
ie(fe.width),fe.dash=ie(fe.dash),fe.stroke=ie(fe.stroke),fe.fill=ie(fe.fill);let ne,_e,Xe,we=[],Dt=[],Wt,bt=!1,
jt={};if(R.live){let r=v[1]?v[1].values:null;bt=r!=null,Wt=bt?r(s,1,0):{_:0};for(let a in Wt)jt[a]=Ql}if(re)if(ne=
$t("table",za,f),Xe=$t("tbody",null,ne),R.mount(s,ne),bt){_e=$t("thead",null,ne,Xe);let r=$t("tr",null,_e);$t(
"th",null,r);for(var xn in Wt)$t("th",hi,r).textContent=xn}else dt(ne,Fa),R.live&&dt(ne,Ra);let Sn={show:!0},ts={
show:!1};function ys(r,a){if(a==0&&(bt||!R.live||l==2))return qn;let d=[],g=$t("tr",Ua,Xe,Xe.childNodes[a]);dt(
g,r.class),r.show||dt(g,yn);let y=$t("th",null,g);if(fe.show){let P=Mt(Ha,y);if(a>0){let D=fe.width(s,a);D&&(P.
style.border=D+"px "+fe.dash(s,a)+" "+fe.stroke(s,a)),P.style.background=fe.fill(s,a)}}let x=Mt(hi,y);r.label instanceof
HTMLElement?x.appendChild(r.label):x.textContent=r.label,a>0&&(fe.show||(x.style.color=r.width>0?fe.stroke(s,a):
fe.fill(s,a)),nt("click",y,P=>{if(W._lock)return;un(P);let D=v.indexOf(r);if((P.ctrlKey||P.metaKey)!=R.isolate){
let U=v.some((H,B)=>B>0&&B!=D&&H.show);v.forEach((H,B)=>{B>0&&Rt(B,U?B==D?Sn:ts:Sn,!0,Pe.setSeries)})}else Rt(
D,{show:!r.show},!0,Pe.setSeries)},!1),En&&nt(gi,y,P=>{W._lock||(un(P),Rt(v.indexOf(r),Hn,!0,Pe.setSeries))},!1));
for(var L in Wt){let P=$t("td",Oa,g);P.textContent="--",d.push(P)}return[g,d]}let ln=new Map;function nt(r,a,d,g=!0){
let y=ln.get(a)||{},x=W.bind[r](s,a,d,g);x&&(wn(r,a,y[r]=x),ln.set(a,y))}function Mn(r,a,d){let g=ln.get(a)||{};
for(let y in g)(r==null||y==r)&&(Il(y,a,g[y]),delete g[y]);r==null&&ln.delete(a)}let Bt=0,on=0,te=0,O=0,xe=0,Fe=0,
An=xe,rn=Fe,Nt=te,an=O,ct=0,yt=0,rt=0,Tt=0;s.bbox={};let tl=!1,ws=!1,Tn=!1,cn=!1,vs=!1,wt=!1;function nl(r,a,d){
(d||r!=s.width||a!=s.height)&&mo(r,a),Cn(!1),Tn=!0,ws=!0,Dn()}function mo(r,a){s.width=Bt=te=r,s.height=on=O=a,
xe=Fe=0,Wr(),Br();let d=s.bbox;ct=d.left=gn(xe*de,.5),yt=d.top=gn(Fe*de,.5),rt=d.width=gn(te*de,.5),Tt=d.height=
gn(O*de,.5)}let Hr=3;function Or(){let r=!1,a=0;for(;!r;){a++;let d=Qr(a),g=Xr(a);r=a==Hr||d&&g,r||(mo(s.width,
s.height),ws=!0)}}function Vr({width:r,height:a}){nl(r,a)}s.setSize=Vr;function Wr(){let r=!1,a=!1,d=!1,g=!1;A.
forEach((y,x)=>{if(y.show&&y._show){let{side:L,_size:P}=y,D=L%2,U=y.label!=null?y.labelSize:0,H=P+U;H>0&&(D?(te-=
H,L==3?(xe+=H,g=!0):d=!0):(O-=H,L==0?(Fe+=H,r=!0):a=!0))}}),fn[0]=r,fn[1]=d,fn[2]=a,fn[3]=g,te-=qt[1]+qt[3],xe+=
qt[3],O-=qt[2]+qt[0],Fe+=qt[0]}function Br(){let r=xe+te,a=Fe+O,d=xe,g=Fe;function y(x,L){switch(x){case 1:return r+=
L,r-L;case 2:return a+=L,a-L;case 3:return d-=L,d+L;case 0:return g-=L,g+L}}A.forEach((x,L)=>{if(x.show&&x._show){
let P=x.side;x._pos=y(P,x._size),x.label!=null&&(x._lpos=y(P,x.labelSize))}})}if(W.dataIdx==null){let r=W.hover,
a=r.skip=new Set(r.skip??[]);a.add(void 0);let d=r.prox=ie(r.prox),g=r.bias??=0;W.dataIdx=(y,x,L,P)=>{if(x==0)
return L;let D=L,U=d(y,x,L,P)??ve,H=U>=0&&U<ve,B=C.ori==0?te:O,X=W.left,he=e[0],ce=e[x];if(a.has(ce[L])){D=null;
let le=null,Z=null,K;if(g==0||g==-1)for(K=L;le==null&&K-- >0;)a.has(ce[K])||(le=K);if(g==0||g==1)for(K=L;Z==null&&
K++<ce.length;)a.has(ce[K])||(Z=K);if(le!=null||Z!=null)if(H){let Ae=le==null?-1/0:G(he[le],C,B,0),Le=Z==null?
1/0:G(he[Z],C,B,0),Ke=X-Ae,be=Le-X;Ke<=be?Ke<=U&&(D=le):be<=U&&(D=Z)}else D=Z==null?le:le==null?Z:L-le<=Z-L?le:
Z}else H&&Oe(X-G(he[L],C,B,0))>U&&(D=null);return D}}let un=r=>{W.event=r};W.idxs=V,W._lock=!1;let et=W.points;
et.show=ie(et.show),et.size=ie(et.size),et.stroke=ie(et.stroke),et.width=ie(et.width),et.fill=ie(et.fill);let zt=s.
focus=ze({},n.focus||{alpha:.3},W.focus),En=zt.prox>=0,_n=En&&et.one,vt=[],Ln=[],$n=[];function po(r,a){let d=et.
show(s,a);if(d instanceof HTMLElement)return dt(d,Na),dt(d,r.class),Vt(d,-10,-10,te,O),M.insertBefore(d,vt[a]),
d}function go(r,a){if(l==1||a>0){let d=l==1&&T[r.scale].time,g=r.value;r.value=d?Pi(g)?Ui(Q,Fi(g,I)):g||se:g||
jc,r.label=r.label||(d?Oc:Hc)}if(_n||a>0){r.width=r.width==null?1:r.width,r.paths=r.paths||au||Qa,r.fillTo=ie(
r.fillTo||Xc),r.pxAlign=+ue(r.pxAlign,w),r.pxRound=Ki(r.pxAlign),r.stroke=ie(r.stroke||null),r.fill=ie(r.fill||
null),r._stroke=r._fill=r._paths=r._focus=null;let d=qc(it(1,r.width),1),g=r.points=ze({},{size:d,width:it(1,d*
.2),stroke:r.stroke,space:d*2,paths:cu,_stroke:null,_fill:null},r.points);g.show=ie(g.show),g.filter=ie(g.filter),
g.fill=ie(g.fill),g.stroke=ie(g.stroke),g.paths=ie(g.paths),g.pxAlign=r.pxAlign}if(re){let d=ys(r,a);we.splice(
a,0,d[0]),Dt.splice(a,0,d[1]),R.values.push(null)}if(ye){V.splice(a,0,null);let d=null;_n?a==0&&(d=po(r,a)):a>
0&&(d=po(r,a)),vt.splice(a,0,d),Ln.splice(a,0,0),$n.splice(a,0,0)}Ye("addSeries",a)}function Ir(r,a){a=a??v.length,
r=l==1?Jl(r,a,Oi,Gi):Jl(r,a,{},Ii),v.splice(a,0,r),go(v[a],a)}s.addSeries=Ir;function Gr(r){if(v.splice(r,1),re){
R.values.splice(r,1),Dt.splice(r,1);let a=we.splice(r,1)[0];Mn(null,a.firstChild),a.remove()}ye&&(V.splice(r,1),
vt.splice(r,1)[0].remove(),Ln.splice(r,1),$n.splice(r,1)),Ye("delSeries",r)}s.delSeries=Gr;let fn=[!1,!1,!1,!1];
function Yr(r,a){if(r._show=r.show,r.show){let d=r.side%2,g=T[r.scale];g==null&&(r.scale=d?v[1].scale:k,g=T[r.
scale]);let y=g.time;r.size=ie(r.size),r.space=ie(r.space),r.rotate=ie(r.rotate),nn(r.incrs)&&r.incrs.forEach(
L=>{!sn.has(L)&&sn.set(L,ir(L))}),r.incrs=ie(r.incrs||(g.distr==2?vc:y?E==1?xc:Ac:bn)),r.splits=ie(r.splits||(y&&
g.distr==1?Re:g.distr==3?Yl:g.distr==4?Bc:Wc)),r.stroke=ie(r.stroke),r.grid.stroke=ie(r.grid.stroke),r.ticks.stroke=
ie(r.ticks.stroke),r.border.stroke=ie(r.border.stroke);let x=r.values;r.values=nn(x)&&!nn(x[0])?ie(x):y?nn(x)?
Ri(Q,zi(x,I)):Pi(x)?_c(Q,x):x||ae:x||Vc,r.filter=ie(r.filter||(g.distr>=3&&g.log==10?Yc:g.distr==3&&g.log==2?Kc:
lr)),r.font=Zi(r.font),r.labelFont=Zi(r.labelFont),r._size=r.size(s,null,a,0),r._space=r._rotate=r._incrs=r._found=
r._splits=r._values=null,r._size>0&&(fn[a]=!0,r._el=Mt($a,b))}}function ns(r,a,d,g){let[y,x,L,P]=d,D=a%2,U=0;return D==
0&&(P||x)&&(U=a==0&&!y||a==2&&!L?He(Hi.size/3):0),D==1&&(y||L)&&(U=a==1&&!x||a==3&&!P?He(Wi.size/2):0),U}let bo=s.
padding=(n.padding||[ns,ns,ns,ns]).map(r=>ie(ue(r,ns))),qt=s._padding=bo.map((r,a)=>r(s,a,fn,0)),je,We=null,Be=null,
ks=l==1?v[0].idxs:null,Et=null,ss=!1;function yo(r,a){if(e=r??[],s.data=s._data=e,l==2){je=0;for(let d=1;d<v.length;d++)
je+=e[d][0].length}else{e.length==0&&(s.data=s._data=e=[[]]),Et=e[0],je=Et.length;let d=e;if(ee==2){d=e.slice();
let g=d[0]=Array(je);for(let y=0;y<je;y++)g[y]=y}s._data=e=d}if(Cn(!0),Ye("setData"),ee==2&&(Tn=!0),a!==!1){let d=C;
d.auto(s,ss)?sl():Zt(k,d.min,d.max),cn=cn||W.left>=0,wt=!0,Dn()}}s.setData=yo;function sl(){ss=!0;let r,a;l==1&&
(je>0?(We=ks[0]=0,Be=ks[1]=je-1,r=e[0][We],a=e[0][Be],ee==2?(r=We,a=Be):r==a&&(ee==3?[r,a]=Ys(r,r,C.log,!1):ee==
4?[r,a]=eo(r,r,C.log,!1):C.time?a=r+He(86400/E):[r,a]=Bs(r,a,to,!0))):(We=ks[0]=r=null,Be=ks[1]=a=null)),Zt(k,
r,a)}let xs,Pn,ll,ol,il,rl,al,cl,ul,at;function wo(r,a,d,g,y,x){r??=di,d??=so,g??="butt",y??=di,x??="round",r!=
xs&&(h.strokeStyle=xs=r),y!=Pn&&(h.fillStyle=Pn=y),a!=ll&&(h.lineWidth=ll=a),x!=il&&(h.lineJoin=il=x),g!=rl&&(h.
lineCap=rl=g),d!=ol&&h.setLineDash(ol=d)}function vo(r,a,d,g){a!=Pn&&(h.fillStyle=Pn=a),r!=al&&(h.font=al=r),d!=
cl&&(h.textAlign=cl=d),g!=ul&&(h.textBaseline=ul=g)}function fl(r,a,d,g,y=0){if(g.length>0&&r.auto(s,ss)&&(a==
null||a.min==null)){let x=ue(We,0),L=ue(Be,g.length-1),P=d.min==null?Ya(g,x,L,y,r.distr==3):[d.min,d.max];r.min=
Ct(r.min,d.min=P[0]),r.max=it(r.max,d.max=P[1])}}let ko={min:null,max:null};function Kr(){for(let g in T){let y=T[g];
Y[g]==null&&(y.min==null||Y[k]!=null&&y.auto(s,ss))&&(Y[g]=ko)}for(let g in T){let y=T[g];Y[g]==null&&y.from!=
null&&Y[y.from]!=null&&(Y[g]=ko)}Y[k]!=null&&Cn(!0);let r={};for(let g in Y){let y=Y[g];if(y!=null){let x=r[g]=
Jn(T[g],tc);if(y.min!=null)ze(x,y);else if(g!=k||l==2)if(je==0&&x.from==null){let L=x.range(s,null,null,g);x.min=
L[0],x.max=L[1]}else x.min=ve,x.max=-ve}}if(je>0){v.forEach((g,y)=>{if(l==1){let x=g.scale,L=Y[x];if(L==null)return;
let P=r[x];if(y==0){let D=P.range(s,P.min,P.max,x);P.min=D[0],P.max=D[1],We=Pt(P.min,e[0]),Be=Pt(P.max,e[0]),Be-
We>1&&(e[0][We]<P.min&&We++,e[0][Be]>P.max&&Be--),g.min=Et[We],g.max=Et[Be]}else g.show&&g.auto&&fl(P,L,g,e[y],
g.sorted);g.idxs[0]=We,g.idxs[1]=Be}else if(y>0&&g.show&&g.auto){let[x,L]=g.facets,P=x.scale,D=L.scale,[U,H]=e[y],
B=r[P],X=r[D];B!=null&&fl(B,Y[P],x,U,x.sorted),X!=null&&fl(X,Y[D],L,H,L.sorted),g.min=L.min,g.max=L.max}});for(let g in r){
let y=r[g],x=Y[g];if(y.from==null&&(x==null||x.min==null)){let L=y.range(s,y.min==ve?null:y.min,y.max==-ve?null:
y.max,g);y.min=L[0],y.max=L[1]}}}for(let g in r){let y=r[g];if(y.from!=null){let x=r[y.from];if(x.min==null)y.
min=y.max=null;else{let L=y.range(s,x.min,x.max,g);y.min=L[0],y.max=L[1]}}}let a={},d=!1;for(let g in r){let y=r[g],
x=T[g];if(x.min!=y.min||x.max!=y.max){x.min=y.min,x.max=y.max;let L=x.distr;x._min=L==3?Yt(x.min):L==4?Fl(x.min,
x.asinh):L==100?x.fwd(x.min):x.min,x._max=L==3?Yt(x.max):L==4?Fl(x.max,x.asinh):L==100?x.fwd(x.max):x.max,a[g]=
d=!0}}if(d){v.forEach((g,y)=>{l==2?y>0&&a.y&&(g._paths=null):a[g.scale]&&(g._paths=null)});for(let g in a)Tn=!0,
Ye("setScale",g);ye&&W.left>=0&&(cn=wt=!0)}for(let g in Y)Y[g]=null}function jr(r){let a=Gl(We-1,0,je-1),d=Gl(
Be+1,0,je-1);for(;r[a]==null&&a>0;)a--;for(;r[d]==null&&d<je-1;)d++;return[a,d]}function qr(){if(je>0){let r=v.
some(a=>a._focus)&&at!=zt.alpha;r&&(h.globalAlpha=at=zt.alpha),v.forEach((a,d)=>{if(d>0&&a.show&&(xo(d,!1),xo(
d,!0),a._paths==null)){let g=at;at!=a.alpha&&(h.globalAlpha=at=a.alpha);let y=l==2?[0,e[d][0].length-1]:jr(e[d]);
a._paths=a.paths(s,d,y[0],y[1]),at!=g&&(h.globalAlpha=at=g)}}),v.forEach((a,d)=>{if(d>0&&a.show){let g=at;at!=
a.alpha&&(h.globalAlpha=at=a.alpha),a._paths!=null&&So(d,!1);{let y=a._paths!=null?a._paths.gaps:null,x=a.points.
show(s,d,We,Be,y),L=a.points.filter(s,d,x,y);(x||L)&&(a.points._paths=a.points.paths(s,d,We,Be,L),So(d,!0))}at!=
g&&(h.globalAlpha=at=g),Ye("drawSeries",d)}}),r&&(h.globalAlpha=at=1)}}function xo(r,a){let d=a?v[r].points:v[r];
d._stroke=d.stroke(s,r),d._fill=d.fill(s,r)}function So(r,a){let d=a?v[r].points:v[r],{stroke:g,fill:y,clip:x,
flags:L,_stroke:P=d._stroke,_fill:D=d._fill,_width:U=d.width}=d._paths;U=ke(U*de,3);let H=null,B=U%2/2;a&&D==null&&
(D=U>0?"#fff":P);let X=d.pxAlign==1&&B>0;if(X&&h.translate(B,B),!a){let he=ct-U/2,ce=yt-U/2,le=rt+U,Z=Tt+U;H=new Path2D,
H.rect(he,ce,le,Z)}a?hl(P,U,d.dash,d.cap,D,g,y,L,x):Jr(r,P,U,d.dash,d.cap,D,g,y,L,H,x),X&&h.translate(-B,-B)}function Jr(r,a,d,g,y,x,L,P,D,U,H){
let B=!1;D!=0&&$.forEach((X,he)=>{if(X.series[0]==r){let ce=v[X.series[1]],le=e[X.series[1]],Z=(ce._paths||gs).
band;nn(Z)&&(Z=X.dir==1?Z[0]:Z[1]);let K,Ae=null;ce.show&&Z&&ja(le,We,Be)?(Ae=X.fill(s,he)||x,K=ce._paths.clip):
Z=null,hl(a,d,g,y,Ae,L,P,D,U,H,K,Z),B=!0}}),B||hl(a,d,g,y,x,L,P,D,U,H)}let Mo=Zn|jl;function hl(r,a,d,g,y,x,L,P,D,U,H,B){
wo(r,a,d,g,y),(D||U||B)&&(h.save(),D&&h.clip(D),U&&h.clip(U)),B?(P&Mo)==Mo?(h.clip(B),H&&h.clip(H),Ms(y,L),Ss(
r,x,a)):P&jl?(Ms(y,L),h.clip(B),Ss(r,x,a)):P&Zn&&(h.save(),h.clip(B),H&&h.clip(H),Ms(y,L),h.restore(),Ss(r,x,a)):
(Ms(y,L),Ss(r,x,a)),(D||U||B)&&h.restore()}function Ss(r,a,d){d>0&&(a instanceof Map?a.forEach((g,y)=>{h.strokeStyle=
xs=y,h.stroke(g)}):a!=null&&r&&h.stroke(a))}function Ms(r,a){a instanceof Map?a.forEach((d,g)=>{h.fillStyle=Pn=
g,h.fill(d)}):a!=null&&r&&h.fill(a)}function Zr(r,a,d,g){let y=A[r],x;if(g<=0)x=[0,0];else{let L=y._space=y.space(
s,r,a,d,g),P=y._incrs=y.incrs(s,r,a,d,g,L);x=pu(a,d,P,g,L)}return y._found=x}function ml(r,a,d,g,y,x,L,P,D,U){
let H=L%2/2;w==1&&h.translate(H,H),wo(P,L,D,U,P),h.beginPath();let B,X,he,ce,le=y+(g==0||g==3?-x:x);d==0?(X=y,
ce=le):(B=y,he=le);for(let Z=0;Z<r.length;Z++)a[Z]!=null&&(d==0?B=he=r[Z]:X=ce=r[Z],h.moveTo(B,X),h.lineTo(he,
ce));h.stroke(),w==1&&h.translate(-H,-H)}function Qr(r){let a=!0;return A.forEach((d,g)=>{if(!d.show)return;let y=T[d.
scale];if(y.min==null){d._show&&(a=!1,d._show=!1,Cn(!1));return}else d._show||(a=!1,d._show=!0,Cn(!1));let x=d.
side,L=x%2,{min:P,max:D}=y,[U,H]=Zr(g,P,D,L==0?te:O);if(H==0)return;let B=y.distr==2,X=d._splits=d.splits(s,g,
P,D,U,H,B),he=y.distr==2?X.map(K=>Et[K]):X,ce=y.distr==2?Et[X[1]]-Et[X[0]]:U,le=d._values=d.values(s,d.filter(
s,he,g,H,ce),g,H,ce);d._rotate=x==2?d.rotate(s,le,g,H):0;let Z=d._size;d._size=At(d.size(s,le,g,r)),Z!=null&&d.
_size!=Z&&(a=!1)}),a}function Xr(r){let a=!0;return bo.forEach((d,g)=>{let y=d(s,g,fn,r);y!=qt[g]&&(a=!1),qt[g]=
y}),a}function ea(){for(let r=0;r<A.length;r++){let a=A[r];if(!a.show||!a._show)continue;let d=a.side,g=d%2,y,
x,L=a.stroke(s,r),P=d==0||d==3?-1:1,[D,U]=a._found;if(a.label!=null){let lt=a.labelGap*P,ht=He((a._lpos+lt)*de);
vo(a.labelFont[0],L,"center",d==2?"top":mi),h.save(),g==1?(y=x=0,h.translate(ht,He(yt+Tt/2)),h.rotate((d==3?-Vs:
Vs)/2)):(y=He(ct+rt/2),x=ht);let dn=nr(a.label)?a.label(s,r,D,U):a.label;h.fillText(dn,y,x),h.restore()}if(U==
0)continue;let H=T[a.scale],B=g==0?rt:Tt,X=g==0?ct:yt,he=a._splits,ce=H.distr==2?he.map(lt=>Et[lt]):he,le=H.distr==
2?Et[he[1]]-Et[he[0]]:D,Z=a.ticks,K=a.border,Ae=Z.show?Z.size:0,Le=He(Ae*de),Ke=He((a.alignTo==2?a._size-Ae-a.
gap:a.gap)*de),be=a._rotate*-Vs/180,$e=_(a._pos*de),ut=(Le+Ke)*P,st=$e+ut;x=g==0?st:0,y=g==1?st:0;let kt=a.font[0],
_t=a.align==1?Gn:a.align==2?Nl:be>0?Gn:be<0?Nl:g==0?"center":d==3?Nl:Gn,Ut=be||g==1?"middle":d==2?"top":mi;vo(
kt,L,_t,Ut);let ft=a.font[1]*a.lineGap,xt=he.map(lt=>_(c(lt,H,B,X))),Lt=a._values;for(let lt=0;lt<Lt.length;lt++){
let ht=Lt[lt];if(ht!=null){g==0?y=xt[lt]:x=xt[lt],ht=""+ht;let dn=ht.indexOf(`
`)==-1?[ht]:ht.split(/\n/gm);for(let ot=0;ot<dn.length;ot++){let Bo=dn[ot];be?(h.save(),h.translate(y,x+ot*ft),
h.rotate(be),h.fillText(Bo,0,0),h.restore()):h.fillText(Bo,y,x+ot*ft)}}}Z.show&&ml(xt,Z.filter(s,ce,r,U,le),g,
d,$e,Le,ke(Z.width*de,3),Z.stroke(s,r),Z.dash,Z.cap);let Ht=a.grid;Ht.show&&ml(xt,Ht.filter(s,ce,r,U,le),g,g==
0?2:1,g==0?yt:ct,g==0?Tt:rt,ke(Ht.width*de,3),Ht.stroke(s,r),Ht.dash,Ht.cap),K.show&&ml([$e],[1],g==0?1:0,g==0?
1:2,g==1?yt:ct,g==1?Tt:rt,ke(K.width*de,3),K.stroke(s,r),K.dash,K.cap)}Ye("drawAxes")}function Cn(r){v.forEach(
(a,d)=>{d>0&&(a._paths=null,r&&(l==1?(a.min=null,a.max=null):a.facets.forEach(g=>{g.min=null,g.max=null})))})}
let As=!1,dl=!1,ls=[];function ta(){dl=!1;for(let r=0;r<ls.length;r++)Ye(...ls[r]);ls.length=0}function Dn(){As||
(ac(Ao),As=!0)}function na(r,a=!1){As=!0,dl=a,r(s),Ao(),a&&ls.length>0&&queueMicrotask(ta)}s.batch=na;function Ao(){
if(tl&&(Kr(),tl=!1),Tn&&(Or(),Tn=!1),ws){if(Te(S,Gn,xe),Te(S,"top",Fe),Te(S,hs,te),Te(S,ms,O),Te(M,Gn,xe),Te(M,
"top",Fe),Te(M,hs,te),Te(M,ms,O),Te(b,hs,Bt),Te(b,ms,on),p.width=He(Bt*de),p.height=He(on*de),A.forEach(({_el:r,
_show:a,_size:d,_pos:g,side:y})=>{if(r!=null)if(a){let x=y===3||y===0?d:0,L=y%2==1;Te(r,L?"left":"top",g-x),Te(
r,L?"width":"height",d),Te(r,L?"top":"left",L?Fe:xe),Te(r,L?"height":"width",L?O:te),Bl(r,yn)}else dt(r,yn)}),
xs=Pn=ll=il=rl=al=cl=ul=ol=null,at=1,rs(!0),xe!=An||Fe!=rn||te!=Nt||O!=an){Cn(!1);let r=te/Nt,a=O/an;if(ye&&!cn&&
W.left>=0){W.left*=r,W.top*=a,Nn&&Vt(Nn,He(W.left),0,te,O),zn&&Vt(zn,0,He(W.top),te,O);for(let d=0;d<vt.length;d++){
let g=vt[d];g!=null&&(Ln[d]*=r,$n[d]*=a,Vt(g,At(Ln[d]),At($n[d]),te,O))}}if(Me.show&&!vs&&Me.left>=0&&Me.width>
0){Me.left*=r,Me.width*=r,Me.top*=a,Me.height*=a;for(let d in vl)Te(Un,d,Me[d])}An=xe,rn=Fe,Nt=te,an=O}Ye("set\
Size"),ws=!1}Bt>0&&on>0&&(h.clearRect(0,0,p.width,p.height),Ye("drawClear"),N.forEach(r=>r()),Ye("draw")),Me.show&&
vs&&(Ts(Me),vs=!1),ye&&cn&&(mn(null,!0,!1),cn=!1),R.show&&R.live&&wt&&(yl(),wt=!1),u||(u=!0,s.status=1,Ye("rea\
dy")),ss=!1,As=!1}s.redraw=(r,a)=>{Tn=a||!1,r!==!1?Zt(k,C.min,C.max):Dn()};function pl(r,a){let d=T[r];if(d.from==
null){if(je==0){let g=d.range(s,a.min,a.max,r);a.min=g[0],a.max=g[1]}if(a.min>a.max){let g=a.min;a.min=a.max,a.
max=g}if(je>1&&a.min!=null&&a.max!=null&&a.max-a.min<1e-16)return;r==k&&d.distr==2&&je>0&&(a.min=Pt(a.min,e[0]),
a.max=Pt(a.max,e[0]),a.min==a.max&&a.max++),Y[r]=a,tl=!0,Dn()}}s.setScale=pl;let gl,bl,Nn,zn,To,Eo,Rn,Fn,_o,Lo,
Se,Ee,Jt=!1,qe=W.drag,Ie=qe.x,Ge=qe.y;ye&&(W.x&&(gl=Mt(Ca,M)),W.y&&(bl=Mt(Da,M)),C.ori==0?(Nn=gl,zn=bl):(Nn=bl,
zn=gl),Se=W.left,Ee=W.top);let Me=s.select=ze({show:!0,over:!0,left:0,width:0,top:0,height:0},n.select),Un=Me.
show?Mt(Pa,Me.over?M:S):null;function Ts(r,a){if(Me.show){for(let d in r)Me[d]=r[d],d in vl&&Te(Un,d,r[d]);a!==
!1&&Ye("setSelect")}}s.setSelect=Ts;function sa(r){if(v[r].show)re&&Bl(we[r],yn);else if(re&&dt(we[r],yn),ye){
let d=_n?vt[0]:vt[r];d!=null&&Vt(d,-10,-10,te,O)}}function Zt(r,a,d){pl(r,{min:a,max:d})}function Rt(r,a,d,g){
a.focus!=null&&aa(r),a.show!=null&&v.forEach((y,x)=>{x>0&&(r==x||r==null)&&(y.show=a.show,sa(x),l==2?(Zt(y.facets[0].
scale,null,null),Zt(y.facets[1].scale,null,null)):Zt(y.scale,null,null),Dn())}),d!==!1&&Ye("setSeries",r,a),g&&
as("setSeries",s,r,a)}s.setSeries=Rt;function la(r,a){ze($[r],a)}function oa(r,a){r.fill=ie(r.fill||null),r.dir=
ue(r.dir,-1),a=a??$.length,$.splice(a,0,r)}function ia(r){r==null?$.length=0:$.splice(r,1)}s.addBand=oa,s.setBand=
la,s.delBand=ia;function ra(r,a){v[r].alpha=a,ye&&vt[r]!=null&&(vt[r].style.opacity=a),re&&we[r]&&(we[r].style.
opacity=a)}let It,Qt,hn,Hn={focus:!0};function aa(r){if(r!=hn){let a=r==null,d=zt.alpha!=1;v.forEach((g,y)=>{if(l==
1||y>0){let x=a||y==0||y==r;g._focus=a?null:x,d&&ra(y,x?1:zt.alpha)}}),hn=r,d&&Dn()}}re&&En&&nt(bi,ne,r=>{W._lock||
(un(r),hn!=null&&Rt(null,Hn,!0,Pe.setSeries))});function Ft(r,a,d){let g=T[a];d&&(r=r/de-(g.ori==1?Fe:xe));let y=te;
g.ori==1&&(y=O,r=y-r),g.dir==-1&&(r=y-r);let x=g._min,L=g._max,P=r/y,D=x+(L-x)*P,U=g.distr;return U==3?jn(10,D):
U==4?Ja(D,g.asinh):U==100?g.bwd(D):D}function ca(r,a){let d=Ft(r,k,a);return Pt(d,e[0],We,Be)}s.valToIdx=r=>Pt(
r,e[0]),s.posToIdx=ca,s.posToVal=Ft,s.valToPos=(r,a,d)=>T[a].ori==0?i(r,T[a],d?rt:te,d?ct:0):o(r,T[a],d?Tt:O,d?
yt:0),s.setCursor=(r,a,d)=>{Se=r.left,Ee=r.top,mn(null,a,d)};function $o(r,a){Te(Un,Gn,Me.left=r),Te(Un,hs,Me.
width=a)}function Po(r,a){Te(Un,"top",Me.top=r),Te(Un,ms,Me.height=a)}let os=C.ori==0?$o:Po,is=C.ori==1?$o:Po;
function ua(){if(re&&R.live)for(let r=l==2?1:0;r<v.length;r++){if(r==0&&bt)continue;let a=R.values[r],d=0;for(let g in a)
Dt[r][d++].firstChild.nodeValue=a[g]}}function yl(r,a){if(r!=null&&(r.idxs?r.idxs.forEach((d,g)=>{V[g]=d}):ec(
r.idx)||V.fill(r.idx),R.idx=V[0]),re&&R.live){for(let d=0;d<v.length;d++)(d>0||l==1&&!bt)&&fa(d,V[d]);ua()}wt=
!1,a!==!1&&Ye("setLegend")}s.setLegend=yl;function fa(r,a){let d=v[r],g=r==0&&ee==2?Et:e[r],y;bt?y=d.values(s,
r,a)??jt:(y=d.value(s,a==null?null:g[a],r,a),y=y==null?jt:{_:y}),R.values[r]=y}function mn(r,a,d){_o=Se,Lo=Ee,
[Se,Ee]=W.move(s,Se,Ee),W.left=Se,W.top=Ee,ye&&(Nn&&Vt(Nn,He(Se),0,te,O),zn&&Vt(zn,0,He(Ee),te,O));let g,y=We>
Be;It=ve,Qt=null;let x=C.ori==0?te:O,L=C.ori==1?te:O;if(Se<0||je==0||y){g=W.idx=null;for(let P=0;P<v.length;P++){
let D=vt[P];D!=null&&Vt(D,-10,-10,te,O)}En&&Rt(null,Hn,!0,r==null&&Pe.setSeries),R.live&&(V.fill(g),wt=!0)}else{
let P,D,U;l==1&&(P=C.ori==0?Se:Ee,D=Ft(P,k),g=W.idx=Pt(D,e[0],We,Be),U=G(e[0][g],C,x,0));let H=-10,B=-10,X=0,he=0,
ce=!0,le="",Z="";for(let K=l==2?1:0;K<v.length;K++){let Ae=v[K],Le=V[K],Ke=Le==null?null:l==1?e[K][Le]:e[K][1][Le],
be=W.dataIdx(s,K,g,D),$e=be==null?null:l==1?e[K][be]:e[K][1][be];if(wt=wt||$e!=Ke||be!=Le,V[K]=be,K>0&&Ae.show){
let ut=be==null?-10:be==g?U:G(l==1?e[0][be]:e[K][0][be],C,x,0),st=$e==null?-10:J($e,l==1?T[Ae.scale]:T[Ae.facets[1].
scale],L,0);if(En&&$e!=null){let kt=C.ori==1?Se:Ee,_t=Oe(zt.dist(s,K,be,st,kt));if(_t<It){let Ut=zt.bias;if(Ut!=
0){let ft=Ft(kt,Ae.scale),xt=$e>=0?1:-1,Lt=ft>=0?1:-1;Lt==xt&&(Lt==1?Ut==1?$e>=ft:$e<=ft:Ut==1?$e<=ft:$e>=ft)&&
(It=_t,Qt=K)}else It=_t,Qt=K}}if(wt||_n){let kt,_t;C.ori==0?(kt=ut,_t=st):(kt=st,_t=ut);let Ut,ft,xt,Lt,Ht,lt,
ht=!0,dn=et.bbox;if(dn!=null){ht=!1;let ot=dn(s,K);xt=ot.left,Lt=ot.top,Ut=ot.width,ft=ot.height}else xt=kt,Lt=
_t,Ut=ft=et.size(s,K);if(lt=et.fill(s,K),Ht=et.stroke(s,K),_n)K==Qt&&It<=zt.prox&&(H=xt,B=Lt,X=Ut,he=ft,ce=ht,
le=lt,Z=Ht);else{let ot=vt[K];ot!=null&&(Ln[K]=xt,$n[K]=Lt,Mi(ot,Ut,ft,ht),xi(ot,lt,Ht),Vt(ot,At(xt),At(Lt),te,
O))}}}}if(_n){let K=zt.prox,Ae=hn==null?It<=K:It>K||Qt!=hn;if(wt||Ae){let Le=vt[0];Le!=null&&(Ln[0]=H,$n[0]=B,
Mi(Le,X,he,ce),xi(Le,le,Z),Vt(Le,At(H),At(B),te,O))}}}if(Me.show&&Jt)if(r!=null){let[P,D]=Pe.scales,[U,H]=Pe.match,
[B,X]=r.cursor.sync.scales,he=r.cursor.drag;if(Ie=he._x,Ge=he._y,Ie||Ge){let{left:ce,top:le,width:Z,height:K}=r.
select,Ae=r.scales[B].ori,Le=r.posToVal,Ke,be,$e,ut,st,kt=P!=null&&U(P,B),_t=D!=null&&H(D,X);kt&&Ie?(Ae==0?(Ke=
ce,be=Z):(Ke=le,be=K),$e=T[P],ut=G(Le(Ke,B),$e,x,0),st=G(Le(Ke+be,B),$e,x,0),os(Ct(ut,st),Oe(st-ut))):os(0,x),
_t&&Ge?(Ae==1?(Ke=ce,be=Z):(Ke=le,be=K),$e=T[D],ut=J(Le(Ke,X),$e,L,0),st=J(Le(Ke+be,X),$e,L,0),is(Ct(ut,st),Oe(
st-ut))):is(0,L)}else kl()}else{let P=Oe(_o-To),D=Oe(Lo-Eo);if(C.ori==1){let X=P;P=D,D=X}Ie=qe.x&&P>=qe.dist,Ge=
qe.y&&D>=qe.dist;let U=qe.uni;U!=null?Ie&&Ge&&(Ie=P>=U,Ge=D>=U,!Ie&&!Ge&&(D>P?Ge=!0:Ie=!0)):qe.x&&qe.y&&(Ie||Ge)&&
(Ie=Ge=!0);let H,B;Ie&&(C.ori==0?(H=Rn,B=Se):(H=Fn,B=Ee),os(Ct(H,B),Oe(B-H)),Ge||is(0,L)),Ge&&(C.ori==1?(H=Rn,
B=Se):(H=Fn,B=Ee),is(Ct(H,B),Oe(B-H)),Ie||os(0,x)),!Ie&&!Ge&&(os(0,0),is(0,0))}if(qe._x=Ie,qe._y=Ge,r==null){if(d){
if(Wo!=null){let[P,D]=Pe.scales;Pe.values[0]=P!=null?Ft(C.ori==0?Se:Ee,P):null,Pe.values[1]=D!=null?Ft(C.ori==
1?Se:Ee,D):null}as(zl,s,Se,Ee,te,O,g)}if(En){let P=d&&Pe.setSeries,D=zt.prox;hn==null?It<=D&&Rt(Qt,Hn,!0,P):It>
D?Rt(null,Hn,!0,P):Qt!=hn&&Rt(Qt,Hn,!0,P)}}wt&&(R.idx=g,yl()),a!==!1&&Ye("setCursor")}let Xt=null;Object.defineProperty(
s,"rect",{get(){return Xt==null&&rs(!1),Xt}});function rs(r=!1){r?Xt=null:(Xt=M.getBoundingClientRect(),Ye("sy\
ncRect",Xt))}function Co(r,a,d,g,y,x,L){W._lock||Jt&&r!=null&&r.movementX==0&&r.movementY==0||(wl(r,a,d,g,y,x,
L,!1,r!=null),r!=null?mn(null,!0,!0):mn(a,!0,!1))}function wl(r,a,d,g,y,x,L,P,D){if(Xt==null&&rs(!1),un(r),r!=
null)d=r.clientX-Xt.left,g=r.clientY-Xt.top;else{if(d<0||g<0){Se=-10,Ee=-10;return}let[U,H]=Pe.scales,B=a.cursor.
sync,[X,he]=B.values,[ce,le]=B.scales,[Z,K]=Pe.match,Ae=a.axes[0].side%2==1,Le=C.ori==0?te:O,Ke=C.ori==1?te:O,
be=Ae?x:y,$e=Ae?y:x,ut=Ae?g:d,st=Ae?d:g;if(ce!=null?d=Z(U,ce)?c(X,T[U],Le,0):-10:d=Le*(ut/be),le!=null?g=K(H,le)?
c(he,T[H],Ke,0):-10:g=Ke*(st/$e),C.ori==1){let kt=d;d=g,g=kt}}D&&(a==null||a.cursor.event.type==zl)&&((d<=1||d>=
te-1)&&(d=gn(d,te)),(g<=1||g>=O-1)&&(g=gn(g,O))),P?(To=d,Eo=g,[Rn,Fn]=W.move(s,d,g)):(Se=d,Ee=g)}let vl={width:0,
height:0,left:0,top:0};function kl(){Ts(vl,!1)}let Do,No,zo,Ro;function Fo(r,a,d,g,y,x,L){Jt=!0,Ie=Ge=qe._x=qe.
_y=!1,wl(r,a,d,g,y,x,L,!0,!1),r!=null&&(nt(Rl,Vl,Uo,!1),as(pi,s,Rn,Fn,te,O,null));let{left:P,top:D,width:U,height:H}=Me;
Do=P,No=D,zo=U,Ro=H}function Uo(r,a,d,g,y,x,L){Jt=qe._x=qe._y=!1,wl(r,a,d,g,y,x,L,!1,!0);let{left:P,top:D,width:U,
height:H}=Me,B=U>0||H>0,X=Do!=P||No!=D||zo!=U||Ro!=H;if(B&&X&&Ts(Me),qe.setScale&&B&&X){let he=P,ce=U,le=D,Z=H;
if(C.ori==1&&(he=D,ce=H,le=P,Z=U),Ie&&Zt(k,Ft(he,k),Ft(he+ce,k)),Ge)for(let K in T){let Ae=T[K];K!=k&&Ae.from==
null&&Ae.min!=ve&&Zt(K,Ft(le+Z,K),Ft(le,K))}kl()}else W.lock&&(W._lock=!W._lock,mn(a,!0,r!=null));r!=null&&(Mn(
Rl,Vl),as(Rl,s,Se,Ee,te,O,null))}function ha(r,a,d,g,y,x,L){if(W._lock)return;un(r);let P=Jt;if(Jt){let D=!0,U=!0,
H=10,B,X;C.ori==0?(B=Ie,X=Ge):(B=Ge,X=Ie),B&&X&&(D=Se<=H||Se>=te-H,U=Ee<=H||Ee>=O-H),B&&D&&(Se=Se<Rn?0:te),X&&
U&&(Ee=Ee<Fn?0:O),mn(null,!0,!0),Jt=!1}Se=-10,Ee=-10,V.fill(null),mn(null,!0,!0),P&&(Jt=P)}function Ho(r,a,d,g,y,x,L){
W._lock||(un(r),sl(),kl(),r!=null&&as(yi,s,Se,Ee,te,O,null))}function Oo(){A.forEach(gu),nl(s.width,s.height,!0)}
wn(Ws,Kn,Oo);let On={};On.mousedown=Fo,On.mousemove=Co,On.mouseup=Uo,On.dblclick=Ho,On.setSeries=(r,a,d,g)=>{let y=Pe.
match[2];d=y(s,a,d),d!=-1&&Rt(d,g,!0,!1)},ye&&(nt(pi,M,Fo),nt(zl,M,Co),nt(gi,M,r=>{un(r),rs(!1)}),nt(bi,M,ha),
nt(yi,M,Ho),ql.add(s),s.syncRect=rs);let Es=s.hooks=n.hooks||{};function Ye(r,a,d){dl?ls.push([r,a,d]):r in Es&&
Es[r].forEach(g=>{g.call(null,s,a,d)})}(n.plugins||[]).forEach(r=>{for(let a in r.hooks)Es[a]=(Es[a]||[]).concat(
r.hooks[a])});let Vo=(r,a,d)=>d,Pe=ze({key:null,setSeries:!1,filters:{pub:Li,sub:Li},scales:[k,v[1]?v[1].scale:
null],match:[$i,$i,Vo],values:[null,null]},W.sync);Pe.match.length==2&&Pe.match.push(Vo),W.sync=Pe;let Wo=Pe.key,
xl=Tr(Wo);function as(r,a,d,g,y,x,L){Pe.filters.pub(r,a,d,g,y,x,L)&&xl.pub(r,a,d,g,y,x,L)}xl.sub(s);function ma(r,a,d,g,y,x,L){
Pe.filters.sub(r,a,d,g,y,x,L)&&On[r](null,a,d,g,y,x,L)}s.pub=ma;function da(){xl.unsub(s),ql.delete(s),ln.clear(),
Il(Ws,Kn,Oo),f.remove(),ne?.remove(),Ye("destroy")}s.destroy=da;function Sl(){Ye("init",n,e),yo(e||n.data,!1),
Y[k]?pl(k,Y[k]):sl(),vs=Me.show&&(Me.width>0||Me.height>0),cn=wt=!0,nl(n.width,n.height)}return v.forEach(go),
A.forEach(Yr),t?t instanceof HTMLElement?(t.appendChild(f),Sl()):t(s,Sl):Sl(),s}Ve.assign=ze;Ve.fmtNum=no;Ve.rangeNum=
Bs;Ve.rangeLog=Ys;Ve.rangeAsinh=eo;Ve.orient=kn;Ve.pxRatio=de;Ve.join=rc;Ve.fmtDate=lo,Ve.tzDate=yc;Ve.sync=Tr;
{Ve.addGap=eu,Ve.clipGaps=qs;let n=Ve.paths={points:Cr};n.linear=Nr,n.stepped=su,n.bars=lu,n.spline=iu}function bu(n,e,t,s){let{model:l}=n,i=l.column("time"),o=n.inUse(),c=l.momentOf(e-1),u=l.momentOf(t),f=[e/1e9],
p=[c===0?0:o[c-1]],h=s/Math.max(1,t-e),b=S=>{f.push(i[S]/1e9),p.push(o[S])};for(let S=c;S<u;){let M=Math.floor(
(i[S]-e)*h),w=S,[_,E]=[S,S];for(;S<u&&Math.floor((i[S]-e)*h)===M;S++)o[S]<o[_]&&(_=S),o[S]>o[E]&&(E=S);let v=[
...new Set([w,Math.min(_,E),Math.max(_,E),S-1])];for(let A of v)b(A)}return f.push(t/1e9),p.push(u===0?0:o[u-1]),
[f,p]}var Xs=class{constructor(e){this.state=e;this.element.setAttribute("aria-label","Bytes in use over time.\
 Arrow keys go to the previous and next change, plus and minus zoom."),this.element.append(this.place,this.note),
this.element.addEventListener("keydown",t=>this.key(t)),this.whole(),new ResizeObserver(()=>this.resize()).observe(
this.element)}state;element=m("div",{class:"timeline",tabindex:0,role:"application"});note=m("div",{class:"not\
e","aria-live":"polite"});place=m("div",{});plot=null;from=0;to=0;space=NaN;whole(){let{model:e}=this.state,t=[
...e.tables.marks,...e.tables.refusals].map(o=>o.time),[s,l]=[e.steps?e.column("time")[0]:0,e.timeAt(e.steps)];
this.from=t.reduce((o,c)=>Math.min(o,c),e.steps?s:t[0]??0),this.to=Math.max(this.from+1e3,t.reduce((o,c)=>Math.
max(o,c),l));let i=(this.to-this.from)/100;this.from=Math.max(0,this.from-i),this.to+=i}resize(){let e=this.element.
clientWidth;this.plot&&e>0&&Math.abs(this.plot.width-e)>1&&this.draw()}zoom(e,t){t-e<1e3&&(t=e+1e3),[this.from,
this.to]=[Math.max(0,e),t],this.data()}key(e){let t=e.shiftKey?100:1,s=this.state.model.timeAt(this.state.at),
l=this.to-this.from;switch(e.key){case"ArrowLeft":case"ArrowRight":this.state.setMoment(this.state.neighbour(e.
key==="ArrowRight",t));break;case"+":case"=":this.zoom(s-l/4,s+l/4);break;case"-":this.zoom(s-l,s+l);break;case"\
0":this.whole(),this.data();break;default:return}e.preventDefault(),e.stopPropagation()}data(){let e=this.plot?.
width??800,[t,s]=bu(this.state,this.from,this.to,e);this.plot?.setData([t,s],!1),this.plot?.setScale("x",{min:this.
from/1e9,max:this.to/1e9});let l=s.reduce((i,o)=>Math.max(i,o),1);this.plot?.setScale("y",{min:0,max:l*1.12})}update(){
this.plot?this.space!==this.state.space?(this.space=this.state.space,this.data()):this.plot.redraw(!1):this.draw()}draw(){
this.plot?.destroy(),this.space=this.state.space;let e={stroke:me("--soft"),grid:{stroke:me("--line"),width:1},
ticks:{stroke:me("--line"),width:1}},t="12px system-ui, sans-serif",s={width:Math.max(200,this.element.clientWidth),
height:190,legend:{show:!1},scales:{x:{time:!1,auto:!1},y:{auto:!1}},axes:[{...e,font:t,values:(l,i)=>i.map(o=>`${+o.
toFixed(6)} s`),size:34},{...e,font:t,size:72,splits:l=>yu(l.scales.y.max??1),values:(l,i)=>i.map(q)}],series:[
{},{stroke:me("--accent"),fill:me("--accent-fill"),width:1.5,paths:Ve.paths.stepped({align:1}),points:{show:!1}}],
cursor:{y:!1,points:{show:!1},drag:{x:!0,y:!1,setScale:!1}},hooks:{draw:[l=>this.signs(l)],setCursor:[l=>this.
say(l)],setSelect:[l=>{let{left:i,width:o}=l.select;o>2&&this.zoom(l.posToVal(i,"x")*1e9,l.posToVal(i+o,"x")*1e9),
l.setSelect({left:0,top:0,width:0,height:0},!1)}],ready:[l=>{let i=0;l.over.addEventListener("mousedown",o=>i=
o.clientX),l.over.addEventListener("mouseup",o=>{if(Math.abs(o.clientX-i)>2)return;let c=l.posToVal(o.clientX-
l.over.getBoundingClientRect().left,"x")*1e9;this.state.setMoment(this.near(l,c))}),l.over.addEventListener("d\
blclick",()=>{this.whole(),this.data()}),l.over.addEventListener("mouseleave",()=>this.rest())}]}};oe(this.place),
this.plot=new Ve(s,[[0],[0]],this.place),this.data(),this.rest()}near(e,t){let{model:s}=this.state,l=e.valToPos(
t/1e9,"x");for(let i of this.state.names()){let o=i.of(this.state.space);if(Math.abs(e.valToPos(s.timeAt(o)/1e9,
"x")-l)<=5)return o}return s.momentOf(t)}rest(){oe(this.note,"Click for a moment, drag to zoom, double click f\
or all.")}say(e){let{left:t}=e.cursor;if(t==null||t<0)return;let s=e.posToVal(t,"x")*1e9,l=this.state.model.momentOf(
s);oe(this.note,`${Je(Math.max(0,s))}: ${q(this.state.inUseAt(l))} in use`)}signs(e){let{ctx:t,bbox:s}=e,{state:l}=this,
{model:i}=l,o=Ve.pxRatio,[c,u]=[s.top,s.top+s.height],f=E=>e.valToPos(E/1e9,"x",!0),p=E=>E>=s.left-1&&E<=s.left+
s.width+1;t.save(),t.lineWidth=o,t.font=`${11*o}px system-ui, sans-serif`;let h=e.valToPos(l.capacity(),"y",!0);
h>=c&&(t.strokeStyle=me("--bad"),t.setLineDash([6*o,4*o]),t.beginPath(),t.moveTo(s.left,h),t.lineTo(s.left+s.width,
h),t.stroke(),t.setLineDash([]));let b=-1/0;for(let E of i.tables.marks){let v=f(E.time);if(!p(v))continue;t.strokeStyle=
t.fillStyle=me("--mark"),t.setLineDash([3*o,3*o]),t.beginPath(),t.moveTo(v,c),t.lineTo(v,u),t.stroke(),t.setLineDash(
[]);let A=E.name.length>18?E.name.slice(0,17)+"\u2026":E.name,T=t.measureText(A).width+8*o;v>b&&v+T<s.left+s.width&&
(t.fillText(A,v+4*o,c+11*o),b=v+T)}let S=l.chosen();t.strokeStyle=me("--bad"),t.lineWidth=2*o;for(let E of i.tables.
refusals){let v=f(E.time);if(!S[E.space]||!p(v))continue;let[A,T]=[c+22*o,5*o];t.beginPath(),t.moveTo(v-T,A-T),
t.lineTo(v+T,A+T),t.moveTo(v+T,A-T),t.lineTo(v-T,A+T),t.stroke()}let M=l.byName("peak").of(l.space),w=f(i.timeAt(
M));if(p(w)&&M>0){let E=e.valToPos(l.inUseAt(M),"y",!0);t.fillStyle=me("--accent"),t.beginPath(),t.moveTo(w,E-
2*o),t.lineTo(w-5*o,E-10*o),t.lineTo(w+5*o,E-10*o),t.fill()}let _=f(i.timeAt(l.at));p(_)&&(t.strokeStyle=t.fillStyle=
me("--ink"),t.lineWidth=1.5*o,t.beginPath(),t.moveTo(_,c),t.lineTo(_,u),t.stroke(),t.beginPath(),t.arc(_,e.valToPos(
l.inUseAt(l.at),"y",!0),3.5*o,0,7),t.fill()),t.restore()}};function yu(n){let e=2**Math.floor(Math.log2(Math.max(
4,n)));for(;n/e<3;)e/=2;let t=[];for(let s=0;s<=n;s+=e)t.push(s);return t}function Ur(n){let{model:e}=n,{spaces:t}=e.
tables,s=160,l=new Float64Array(t.length*s),i=new Float64Array(t.length),[o,c]=[e.column("space"),e.column("si\
ze")],u=e.column("time"),[f,p]=[e.steps?u[0]:0,e.timeAt(e.steps)],h=(s-1)/Math.max(1,p-f);for(let E=0;E<e.steps;E++){
let v=e.of[E];if(v===4294967295)continue;let A=o[v];i[A]+=e.begin[v]===E?c[v]:-c[v];let T=A*s+Math.floor((u[E]-
f)*h);l[T]=Math.max(l[T],i[A],1e-9)}let b=t.reduce((E,v)=>Math.max(E,v.peak),1),S=n.used.map(E=>{let v=t[E],A=e.
tables.refusals.filter(N=>N.space===E).length,T=m("canvas",{class:"spark","aria-hidden":"true"});[T.width,T.height]=
[s,22];let $=T.getContext("2d");$.fillStyle=me("--accent");let k=0;for(let N=0;N<s;N++){k=l[E*s+N]>0?l[E*s+N]:
k;let F=k/b*20;$.fillRect(N,22-F,1,F)}let z=m("button",{class:"plain",onclick:()=>n.setSpace(E)},v.name);return m(
"tr",{class:n.space===E?"chosen":void 0},m("td",{},z),m("td",{},T),m("td",{class:"number"},q(v.peak)),m("td",{
class:"number"},q(n.model.tables.is_snapshot?0:wu(n,E))),m("td",{class:"number"},q(v.capacity)),m("td",{class:"\
number"},A?`\u2715 ${A}`:""))}),M=["Memory","In use","Peak","End","Capacity","Refused"].map((E,v)=>m("th",{class:v>
1?"number":void 0},E)),w=m("button",{class:"plain",onclick:()=>n.setSpace(Ne)},"all devices"),_=n.used.filter(
E=>t[E].device!==null).length;return m("div",{class:"overview",tabindex:0,role:"region","aria-label":"Memories"},
m("table",{},m("thead",{},m("tr",{},...M)),m("tbody",{},_>1&&m("tr",{class:n.space===Ne?"chosen":void 0},m("td",
{colspan:6},w)),...S)))}var fo=new Map;function wu(n,e){if(fo.size===0){let{model:t}=n,[s,l]=[t.column("space"),
t.column("size")],{spaces:i}=t.tables,o=new Float64Array(i.length);for(let c=0;c<t.allocations;c++){let u=i[s[c]].
end_at;t.begin[c]<u&&t.end[c]>=u&&(o[s[c]]+=l[c])}o.forEach((c,u)=>fo.set(u,c))}return fo.get(e)??0}var vu=[["1 \u2026 9","views"],["p, e, l","peak, end, last change"],["m, M","next mark, previous mark"],["o","\
next refusal"],["\u2190 \u2192","previous and next change, with Shift a hundred"],["d, D","next memory, previo\
us memory"],["/","search"],["t","light or dark"],["Escape","closes what is open"],["?","this list"]];function el(n,e){
try{return e!==void 0&&localStorage.setItem(`tpu-emu-${n}`,e),localStorage.getItem(`tpu-emu-${n}`)}catch{return null}}
var ho=class{constructor(e){this.model=e;this.state=new zs(e),this.drawer=new Cs(e);let t=Tl(e).map(([o])=>o),
s=el("editor");El(s!==null&&t.includes(s)&&e.tables.editor==="file"?s:e.tables.editor),this.timeline=new Xs(this.
state);let{state:l,drawer:i}=this;this.views=[ni(l,i),si(l,i),li(l,i),oi(l,i),ui(l,i),ii(l,i),ri(l,i),ai(l,i),
fi(l,i)]}model;state;drawer;timeline;views;cards=m("div",{class:"cards"});controls=m("div",{class:"bar control\
s"});memories=m("div",{});tabs=m("div",{class:"tabs",role:"tablist","aria-label":"Views"});panel=m("main",{role:"\
tabpanel",id:"panel",tabindex:-1});start(){let e=document.getElementById("app"),{tables:t}=this.model;document.
title=`${t.file.split("/").pop()} \u2013 tpu-emu`,oe(e,this.head(),...this.careful(),this.controls,this.cards,
this.timeline.element,this.memories,this.tabs,this.panel,this.drawer.element),this.fromAddress(),this.state.listen(
l=>{l==="moment"&&this.moment(),this.show(),this.toAddress()}),document.addEventListener("keydown",l=>this.key(
l)),window.addEventListener("hashchange",()=>this.fromAddress()),matchMedia("(prefers-color-scheme: dark)").addEventListener(
"change",()=>this.redraw());let s=innerWidth;window.addEventListener("resize",()=>{s!==innerWidth&&this.show(),
s=innerWidth}),this.moment(),this.show()}head(){let{tables:e}=this.model,t=m("button",{id:"theme",onclick:()=>this.
theme(),title:"t"},"Light / dark"),s=m("button",{id:"help",onclick:()=>this.help(),title:"?"},"Keys"),l=mt("Op\
en files with",Tl(this.model),jo(),u=>{El(u),el("editor",u),this.show()}),i=new Date(e.started/1e6),o=Number.isNaN(
i.getTime())?"":`, ${i.toISOString().replace("T"," ").slice(0,19)} UTC`,c=e.is_snapshot?"snapshot":"trace";return m(
"header",{},m("div",{},m("h1",{},e.file.split("/").pop()||"trace"),m("p",{class:"soft"},`${c} of process ${e.process}${o}\
; ${e.topology}; tpu-emu ${e.version}, format ${e.format.join(".")}; ${pe(this.model.steps,"change")}`)),m("di\
v",{class:"bar"},l,t,s))}careful(){return this.model.tables.cut.map(e=>m("p",{class:"careful",role:"alert"},m(
"b",{},"Careful: "),`${e}.`))}moment(){let{state:e,model:t}=this,{spaces:s,marks:l,refusals:i}=t.tables,o=e.used.
map(p=>[String(p),s[p].name]);e.used.filter(p=>s[p].device!==null).length>1&&o.unshift([String(Ne),"all device\
s"]),o.length===0&&o.push([String(e.space),e.space===Ne?"no memory":e.name()]);let c=(p,h)=>m("button",{"aria-\
pressed":String(e.named===p),onclick:()=>e.setNamed(p),id:`at-${p}`},h),u=[["","\u2013"],...e.names().slice(3).
map(({name:p,text:h})=>[p,h])],f=document.activeElement?.id;if(oe(this.controls,mt("Memory",o,String(e.space),
p=>e.setSpace(Number(p))),m("span",{class:"group"},c("peak","Peak"),c("end","End"),c("last","Last change")),l.
length+i.length>0&&mt("Go to",u,u.some(([p])=>p===e.named)?e.named:"",p=>p&&e.setNamed(p)),m("span",{class:"gr\
oup"},m("button",{"aria-label":"Previous change",onclick:()=>e.setMoment(e.neighbour(!1,1)),id:"step-back"},"\u25C0"),
m("span",{id:"moment","data-at":e.at,"aria-live":"polite"},`${Je(t.timeAt(e.at))}, after change ${Ue(e.at)}`),
m("button",{"aria-label":"Next change",onclick:()=>e.setMoment(e.neighbour(!0,1)),id:"step-on"},"\u25B6"))),f&&
document.getElementById(f)?.focus({preventScroll:!0}),this.card(),e.used.length>1){let p=this.memories.firstElementChild?.
scrollTop??0;oe(this.memories,Ur(e)),this.memories.firstElementChild.scrollTop=p}this.timeline.update()}card(){
let{state:e,model:t}=this,s=e.capacity(),l=e.space===Ne?null:t.tables.spaces[e.space]?.usage,i=(h,b,S,M)=>m("d\
iv",{class:"card",id:`card-${h}`,"data-bytes":S},m("h2",{},b),m("p",{class:"size",title:Ce(S)},q(S)),m("p",{class:"\
soft"},M)),o=h=>e.byName(h).of(e.space),[c,u]=[o("peak"),o("end")],f=h=>`${en(h,s)} of the capacity`,p=l?l[1]:
e.inUseAt(c);oe(this.cards,i("peak","Peak",p,l?f(p):`${f(p)}, at ${Je(t.timeAt(c))}`),i("end",l?"In use":"End",
e.inUseAt(u),l?"when the snapshot was taken":u<t.steps?"before the client's clean-up":"behind the last change"),
i("now","Chosen moment",e.inUseAt(e.at),f(e.inUseAt(e.at))),i("capacity","Capacity",s,e.space===Ne?"of all dev\
ices":e.name()))}show(){tt.hide();let{state:e}=this,t=this.model.tables.refusals.length,s=this.tabs.contains(document.
activeElement);oe(this.tabs,...this.views.map((i,o)=>{let c=i.name===e.view,u=i.name==="refusals"&&t?` (${Ue(t)}\
)`:"";return m("button",{role:"tab",id:`tab-${i.name}`,"aria-selected":String(c),"aria-controls":"panel",tabindex:c?
0:-1,title:String(o+1),onclick:()=>e.setView(i.name)},i.title+u)}));let l=this.views.find(i=>i.name===e.view)??
this.views[0];this.panel.setAttribute("aria-labelledby",`tab-${l.name}`),this.panel.firstElementChild!==l.element&&
this.panel.replaceChildren(l.element),l.show(),s&&document.getElementById(`tab-${l.name}`)?.focus({preventScroll:!0})}redraw(){
this.timeline.draw(),this.moment(),this.show()}theme(){let e=document.documentElement,t=e.dataset.theme?e.dataset.
theme==="dark":matchMedia("(prefers-color-scheme: dark)").matches;e.dataset.theme=t?"light":"dark",el("theme",
e.dataset.theme),this.redraw()}help(){let e=m("dialog",{class:"help"}),t=vu.map(([s,l])=>m("tr",{},m("th",{},m(
"kbd",{},s)),m("td",{},l)));Ze(e,m("h2",{},"Keys"),m("table",{},...t),m("button",{onclick:()=>e.close()},"Clos\
e")),e.addEventListener("close",()=>e.remove()),document.body.append(e),e.showModal()}next(e,t){let{state:s}=this,
l=s.names().filter(({name:c})=>c.startsWith(e));if(l.length===0)return;let i=l.findIndex(({name:c})=>c===s.named),
o=i<0?t?0:l.length-1:(i+(t?1:l.length-1))%l.length;s.setNamed(l[o].name)}key(e){let t=e.target;if(e.ctrlKey||e.
metaKey||e.altKey||document.querySelector("dialog[open]"))return;if(e.key==="Escape")return t instanceof HTMLInputElement?
t.blur():this.drawer.close();if(t instanceof HTMLInputElement||t instanceof HTMLSelectElement)return;let{state:s}=this,
{key:l}=e,i=t.getAttribute("role")==="tab";if(/^[1-9]$/.test(l)&&this.views[Number(l)-1])s.setView(this.views[Number(
l)-1].name);else if(i&&(l==="ArrowLeft"||l==="ArrowRight")){let o=this.views.findIndex(c=>c.name===s.view);s.setView(
this.views[(o+(l==="ArrowRight"?1:this.views.length-1))%this.views.length].name)}else if(l==="p")s.setNamed("p\
eak");else if(l==="e")s.setNamed("end");else if(l==="l")s.setNamed("last");else if(l==="m"||l==="M")this.next(
"mark-",l==="m");else if(l==="o"||l==="O")this.next("refusal-",l==="o");else if(l==="d"||l==="D"){let o=[...s.
used.length>1?[Ne]:[],...s.used],c=o.indexOf(s.space);o.length&&s.setSpace(o[(c+(l==="d"?1:o.length-1))%o.length])}else if((l===
"ArrowLeft"||l==="ArrowRight")&&!(t instanceof HTMLCanvasElement))s.setMoment(s.neighbour(l==="ArrowRight",e.shiftKey?
100:1));else if(l==="/")this.panel.querySelector("input[type=search]")?.focus();else if(l==="t")this.theme();else if(l===
"?")this.help();else return;e.preventDefault()}toAddress(){let{state:e}=this,t=e.named??String(e.at);history.replaceState(
null,"",`#view=${e.view}&memory=${e.space}&at=${t}`)}fromAddress(){let e=new URLSearchParams(location.hash.slice(
1)),{state:t}=this,s=Number(e.get("memory")??NaN);e.has("memory")&&(s===Ne||this.model.tables.spaces[s])&&t.setSpace(
s);let l=e.get("at");l!==null&&/^\d+$/.test(l)?t.setMoment(Number(l)):l!==null&&t.setNamed(l);let i=e.get("vie\
w");i!==null&&this.views.some(({name:o})=>o===i)&&t.setView(i)}};async function ku(){let n=el("theme");(n==="l\
ight"||n==="dark")&&(document.documentElement.dataset.theme=n);try{if(typeof DecompressionStream>"u")throw new Error(
"this browser has no DecompressionStream; those since 2023 have it");new ho(await Ls.read()).start(),document.
documentElement.dataset.ready="true"}catch(e){throw oe(document.getElementById("app"),m("p",{class:"careful"},
`The report cannot be shown: ${e instanceof Error?e.message:String(e)}`)),e}}ku();})();
