"use strict";(()=>{var Ko=["KiB","MiB","GiB","TiB","PiB","EiB"];function G(t){if(t<0)return"-"+G(-t);let e=-1,n=t;for(;n>=1024&&e<
Ko.length-1;)n/=1024,e+=1;if(e<0)return`${Math.round(t)} B`;let s=Math.round(n*100)<1e3?2:Math.round(n*10)<1e3?
1:0;return`${n.toFixed(s)} ${Ko[e]}`}function $e(t){return String(Math.round(t)).replace(/\B(?=(\d{3})+$)/g,",")}
function ae(t,e,n=`${e}s`){return`${$e(t)} ${t===1?e:n}`}function Ce(t){return ae(t,"byte")}function Ne(t){return`${Math.
floor(t/1e9)}.${String(Math.floor(t%1e9/1e3)).padStart(6,"0")} s`}function ut(t){return t<1e3?`${Math.round(t)}\
 ns`:t<1e6?`${(t/1e3).toPrecision(3)} \xB5s`:t<1e9?`${(t/1e6).toPrecision(3)} ms`:`${(t/1e9).toPrecision(4)} s`}
function en(t,e){return e>0?`${(Math.floor(t*1e3/e)/10).toFixed(1)} %`:"\u2013"}function Tt(t){return"0x"+t.toString(
16)}function Ls(t){return t.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g," ")}function f(t,e={},...n){let s=document.createElement(t);for(let[l,i]of Object.entries(e))i===void 0||i===!1||(typeof i==
"function"?s.addEventListener(l.slice(2),i):s.setAttribute(l,i===!0?"":String(i)));return ze(s,...n),s}function ze(t,...e){
for(let n of e)n==null||n===!1||t.append(typeof n=="string"?Ls(n):n)}function re(t,...e){t.replaceChildren(),ze(
t,...e)}function tt(t,e,n,s){let l=f("select",{"aria-label":t,onchange:()=>s(l.value)});for(let[i,o]of e)ze(l,
f("option",{value:i,selected:i===n},o));return l.value=n,f("label",{class:"choice"},f("span",{},t),l)}function Vn(t,e,n){
let s=window.devicePixelRatio||1,l=f("canvas",{role:"img","aria-label":n,tabindex:0});l.width=Math.max(1,Math.
round(t*s)),l.height=Math.max(1,Math.round(e*s)),l.style.width=`${t}px`,l.style.height=`${e}px`;let i=l.getContext(
"2d");return i.scale(s,s),[l,i]}function de(t){return getComputedStyle(document.documentElement).getPropertyValue(
t).trim()}var Al=class{box=f("div",{class:"tip",role:"tooltip",hidden:!0});show(e,...n){this.box.isConnected||
document.body.append(this.box),re(this.box,...n.map(a=>f("div",{},a))),this.box.hidden=!1;let{offsetWidth:s,offsetHeight:l}=this.
box,i=e.clientX+14+s>innerWidth?e.clientX-s-8:e.clientX+14,o=e.clientY+14+l>innerHeight?e.clientY-l-8:e.clientY+
14;this.box.style.left=`${Math.max(4,i)}px`,this.box.style.top=`${Math.max(4,o)}px`}hide(){this.box.hidden=!0}},
nt=new Al;async function jo(t){let e=document.getElementById(`data-${t}`);if(!e)throw new Error(`the file has no ${t}: i\
t is cut off`);let n=e.textContent??"";e.remove();let s=atob(n),l=new Uint8Array(s.length);for(let o=0;o<s.length;o++)
l[o]=s.charCodeAt(o);let i=new Blob([l]).stream().pipeThrough(new DecompressionStream("deflate"));return new Uint8Array(
await new Response(i).arrayBuffer())}async function Yo(t){return JSON.parse(new TextDecoder().decode(await jo(
t)))}function wa(t,e){let{count:n,width:s,shift:l,is_difference:i}=t,o=s*8+l,u=o>32||i?new Float64Array(n):o>16?
new Uint32Array(n):o>8?new Uint16Array(n):new Uint8Array(n);for(let m=0;m<s;m++){let d=2**(8*m+l),h=m*n;for(let b=0;b<
n;b++)u[b]+=e[h+b]*d}if(i)for(let m=1;m<n;m++)u[m]+=u[m-1];return u}var Ps=class t{constructor(e,n){this.tables=
e;this.columns=n;this.names=new Map(e.names);let s=this.column("back");this.steps=s.length,this.allocations=this.
column("size").length,this.of=new Uint32Array(this.steps),this.begin=new Uint32Array(this.allocations),this.end=
new Uint32Array(this.allocations).fill(4294967295),this.freed=new Uint32Array(this.allocations).fill(4294967295);
let l=0,i=0;for(let o=0;o<this.steps;o++)if(s[o]===0)this.of[o]=l,this.begin[l++]=o;else if(s[o]>l)this.of[o]=
4294967295,i++;else{let a=l-s[o];this.of[o]=a,this.end[a]=o,this.freed[a]=i++}for(let[o,a]of e.replaced)this.end[o]=
a;n.delete("back")}tables;columns;steps;allocations;of;begin;end;freed;names;static async read(){let[e,n]=await Promise.
all([Yo("tables"),Yo("columns")]),s=n.map(async l=>[l.name,wa(l,await jo(l.name))]);return new t(e,new Map(await Promise.
all(s)))}column(e){return this.columns.get(e)}timeAt(e){let n=this.column("time");return this.steps===0?0:n[Math.
max(0,Math.min(e,this.steps)-1)]}momentOf(e){let n=this.column("time"),[s,l]=[0,this.steps];for(;s<l;){let i=s+
l>>>1;n[i]<=e?s=i+1:l=i}return s}functions(e){let n=this.tables.frames[e],s=[];for(let l=0;l<n.length;l+=6){let i=o=>this.
tables.texts[n[l+o]];s.push({name:i(0),file:i(1),line:n[l+2],module:i(3),kind:n[l+4],link:i(5)})}return s}stack(e){
let n=[],[s,l]=[this.column("stack_caller"),this.column("stack_frame")];for(let i=e;i!==0;i=s[i-1])n.push(...this.
functions(l[i-1]));return n}};var qo=new Map,Tl="file";function El(t){return qo=new Map(t.tables.editors),t.tables.editors.map(([e])=>[e,e===
"file"?"the browser":e.includes("{path}")?"as TPU_EMU_EDITOR says":e])}function _l(t){Tl=t}function Jo(){return Tl}
function Zo(t,e){let n=qo.get(Tl)??"file://{path}";if(!t.startsWith("/")||!/^[a-z][a-z0-9+.-]*:/i.test(n)||/^(javascript|data|vbscript):/i.
test(n))return null;let s=t.split("/").map(encodeURIComponent).join("/");return n.replaceAll("{path}",s).replaceAll(
"{line}",String(Math.max(1,e)))}function us(t){return t.file===""?t.module.split("/").pop()??"":t.line>0?`${t.
file}:${t.line}`:t.file}function Qo(t,e){let n=t.link||Zo(t.file,t.line);return n===null?f("span",{class:"wher\
e"},e):f("a",{class:"where",href:n,target:t.link?"_blank":void 0,rel:"noreferrer"},e)}function Re(t){let e=/^(\/.*?):(\d+)( .*)?$/s.
exec(t),n=e?{file:e[1],line:Number(e[2]),rest:e[3]??""}:null,s=n&&Zo(n.file,n.line);if(!n||s===null)return[t];
let l=n.file.split("/").pop();return[f("a",{href:s,title:`${n.file}:${n.line}`,onclick:i=>i.stopPropagation()},
`${l}:${n.line}`),f("span",{class:"function"},n.rest)]}var $l=[["line","Line"],["function","Function"],["executable","Program"],["label","What for"],["array","Array \
type"],["entry","API function"],["space","Memory"]];function Fe(t,e){let n=t.tables.keys[e]??[];if(e==="space"){
let o=t.column("space");return{words:n,of:a=>o[a]}}let s={label:"site_label",array:"site_spec",entry:"site_ent\
ry"},[l,i]=[t.column("site"),t.column(s[e]??`site_${e}`)];return{words:n,of:o=>i[l[o]]}}function Wt(t,e,n){let{
words:s,of:l}=Fe(t,n),i=s.length,[o,a,u]=[new Float64Array(i),new Float64Array(i),new Uint32Array(i)],m=new Uint32Array(
i),[d,h,b]=[t.column("size"),t.column("site"),t.column("site_spec")],M=Float64Array.from(t.tables.specs,k=>k.logical);
for(let k of e){let x=l(k);u[x]++===0&&(m[x]=k),o[x]+=d[k],a[x]+=M[b[h[k]]]}let T=[];for(let k=0;k<i;k++)u[k]!==
0&&T.push({key:k,words:s[k],bytes:o[k],logical:a[k],blocks:u[k],first:m[k]});return T.sort((k,x)=>x.bytes-k.bytes||
(k.words<x.words?-1:1))}function Xo(t,e){let n=t.column("site"),s=t.column("size"),l=new Map;for(let i of e){let o=n[i],
a=l.get(o);a||l.set(o,a={key:o,words:"",bytes:0,logical:0,blocks:0,first:i}),a.bytes+=s[i],a.blocks++}return[...l.
values()].sort((i,o)=>o.bytes-i.bytes)}function Cs(t,e){let[n,s,l]=[t.column("size"),t.column("site"),t.column(
"site_spec")],i={bytes:0,logical:0};for(let o of e)i.bytes+=n[o],i.logical+=t.tables.specs[l[s[o]]].logical;return i}
function Ds(t,e,n){let{model:s}=t,[l,i]=[s.column("address"),s.column("size")],o=Ll(fs(e,d=>l[d]),e),a=[],[u,m]=[
0,-1];for(let d of o){let h=l[d];h>u&&a.push({address:u,size:h-u,before:m,behind:d}),h+i[d]>=u&&([u,m]=[h+i[d],
d])}return n>u&&a.push({address:u,size:n-u,before:m,behind:-1}),{blocks:o,holes:a}}function fs(t,e){let n=new Float64Array(
t.length);for(let s=0;s<t.length;s++)n[s]=e(t[s]);return n}function Ll(t,e){let n=e.length;if(n<2e3)return Uint32Array.
from(Array.from(e.keys()).sort((a,u)=>t[a]-t[u]||a-u),a=>e[a]);let s=new Uint16Array(t.buffer,t.byteOffset,n*4),
[l,i]=[new Uint32Array(n),new Uint32Array(n)];for(let a=0;a<n;a++)l[a]=a;let o=new Uint32Array(65537);for(let a=0;a<
4;a++){o.fill(0);for(let u=0;u<n;u++)o[s[u*4+a]+1]++;if(o[s[a]+1]!==n){for(let u=0;u<65536;u++)o[u+1]+=o[u];for(let u=0;u<
n;u++)i[o[s[l[u]*4+a]]++]=l[u];[l,i]=[i,l]}}for(let a=0;a<n;a++)i[a]=e[l[a]];return i}var Ns=class{constructor(e){this.model=e;this.element.addEventListener("keydown",n=>{n.key==="Escape"&&(n.stopPropagation(),
this.close())})}model;element=f("aside",{class:"drawer","aria-label":"Details",hidden:!0,tabindex:-1});opener=null;face="\
python";close(){this.element.hidden||(this.element.hidden=!0,document.body.classList.remove("with-drawer"),this.
opener?.isConnected&&this.opener.focus())}open(e,...n){this.element.hidden&&(this.opener=document.activeElement);
let s=f("button",{class:"close","aria-label":"Close",onclick:()=>this.close()},"\u2715");re(this.element,f("di\
v",{class:"drawer-head"},f("h2",{},...e),s),...n),this.element.hidden=!1,document.body.classList.add("with-dra\
wer"),this.element.focus({preventScroll:!0}),this.element.scrollTop=0}blocks(e,n){let{model:s}=this,l=Xo(s,n),
i=l.reduce((T,k)=>T+k.bytes,0),o=l.reduce((T,k)=>T+k.blocks,0),[a,u,m,d]=["site_stack","site_label","site_spec",
"site_entry"].map(T=>s.column(T)),h=s.tables.keys,b=s.names.size?Array.from(n).flatMap(T=>s.names.get(T)??[]):
[],M=l.slice(0,30).map((T,k)=>{let x=T.key,y=f("details",{open:k===0});ze(y,f("summary",{},f("b",{title:Ce(T.bytes)},
G(T.bytes)),` in ${ae(T.blocks,"block")}: ${h.label[u[x]]}`),f("p",{class:"soft"},`${s.tables.specs[m[x]].text}\
, by ${h.entry[d[x]]}`));let w=()=>{y.open&&!y.querySelector(".stack")&&y.append(this.stack(a[x]))};return y.addEventListener(
"toggle",w),w(),y});this.open(e,f("p",{},`${G(i)} in ${ae(o,"block")}, taken at ${ae(l.length,"place")}.`),b.length?
f("details",{open:b.length<20},f("summary",{},`kept by ${ae(b.length,"name")}`),f("ul",{},...b.slice(0,1e3).map(
T=>f("li",{},T)))):null,...M,l.length>30?f("p",{class:"soft"},`${ae(l.length-30,"other place")} with less.`):null)}block(e){
let{model:n}=this,s=M=>n.column(M)[e],l=s("site"),i=n.tables.specs[n.column("site_spec")[l]],[o,a]=[n.begin[e],
n.end[e]],u=n.column("time"),m=Fe(n,"line"),d=(M,...T)=>f("tr",{},f("th",{},M),f("td",{},...T)),h=n.freed[e],b=h===
4294967295?-1:n.column("free_site")[h];this.open([`${G(s("size"))} at ${Tt(s("address"))}`],f("table",{class:"\
facts"},d("Taken by",...Re(m.words[m.of(e)])),d("What for",n.tables.keys.label[n.column("site_label")[l]]),...n.
names.has(e)?[d("Kept by",n.names.get(e).join(", "))]:[],d("Array",i.text),d("Size",`${Ce(s("size"))}, ${G(Math.
max(0,s("size")-i.logical))} of it padding`),d("Memory",n.tables.spaces[s("space")].name),d("Taken",`${Ne(u[o])}\
, by thread ${n.tables.threads[s("thread")]} in ${n.tables.keys.entry[n.column("site_entry")[l]]}`),d("Given b\
ack",a===4294967295?"never":b<0?`${Ne(u[a])}: another block took its address, its free is missing`:`${Ne(u[a])}\
, after ${ut(u[a]-u[o])}, by thread ${n.tables.threads[n.column("free_thread")[h]]}`)),f("h3",{},"Taken by"),this.
stack(n.column("site_stack")[l]),b<0?null:f("h3",{},"Given back by"),b<0?null:this.stack(n.column("free_stack")[b]))}calls(e,n,s){
this.open([e],f("p",{},n),this.list(s))}one(e,n,s){this.open([e],f("p",{},n),this.stack(s))}stack(e){let n=this.
model.stack(e),s=f("div",{class:"stack"}),l=()=>{let i={python:2,mixed:4,native:0}[this.face],o=i===0?n:n.filter(
u=>u.kind&i);o.length===0&&(o=this.face==="python"?n.filter(u=>u.kind&1):n),o.length===0&&(o=n);let a=["python",
"mixed","native"].map(u=>{let m={python:"Python",mixed:"Mixed",native:"All frames"}[u];return f("button",{"ari\
a-pressed":String(u===this.face),onclick:()=>(this.face=u,l())},m)});re(s,f("p",{class:"bar"},...a,f("span",{class:"\
soft"},`${o.length} of ${ae(n.length,"frame")}, innermost first`)),this.list(o))};return l(),s}list(e){if(e.length===
0)return f("p",{class:"soft"},"No stack was recorded.");let n=e.map(s=>f("li",{class:s.kind&1?"python":"native"},
f("span",{class:"function"},s.name||"?")," ",Qo(s,us(s))));return f("ol",{class:"frames"},...n)}};var Cl=class{frames=[null];parents=[0];node;constructor(e,n){let[s,l]=[e.column("stack_caller"),e.column("stac\
k_frame")];this.node=new Uint32Array(s.length+1);let i=new Map,o=new Map,a=e.tables.frames.map((u,m)=>e.functions(
m).reverse().filter(d=>n(d.kind)).map(d=>{let h=`${d.name}\0${d.file}\0${d.line}`,b=o.get(h)??o.size;return o.
set(h,b),{frame:d,number:b}}));for(let u=1;u<=s.length;u++){let m=this.node[s[u-1]];for(let{frame:d,number:h}of a[l[u-
1]]){let b=m*o.size+h,M=i.get(b);M===void 0&&(M=this.frames.length,i.set(b,M),this.frames.push(d),this.parents.
push(m)),m=M}this.node[u]=m}}},ei=new Map;function Dl(t,e){let n={python:2,mixed:4,every_python:1},s=ei.get(e);
return s||ei.set(e,s=new Cl(t,l=>e==="native"||(l&n[e])!==0)),s}function ni(t){Dl(t,"python")}function va(t,e,n){
let s=t.column("site"),l=t.column("size"),i=t.column("site_stack"),[o,a]=[t.column("site_label"),t.column("sit\
e_spec")],u=new Float64Array(i.length),m=new Uint32Array(i.length);for(let S of e)u[s[S]]+=l[S],m[s[S]]++;let d=[
{name:"all",frame:null,parent:0,bytes:0,blocks:0,depth:0,left:0,children:[]}],h=(S,E,L)=>(d.push({name:E,frame:L,
parent:S,bytes:0,blocks:0,depth:d[S].depth+1,left:0,children:[]}),d[S].children.push(d.length-1),d.length-1),b=new Map,
M=(S,E)=>{let L=b.get(S);L||b.set(S,L=new Int32Array(S.frames.length));let A=[];for(;E!==0&&L[E]===0;E=S.parents[E])
A.push(E);for(let R of A.reverse()){let z=S.frames[R];L[R]=h(L[E],z.name,z),E=R}return L[E]},T=Dl(t,n),k=new Map,
{labels:x,specs:y}=t.tables;for(let S=0;S<i.length;S++){if(m[S]===0)continue;let L=T.node[i[S]]===0&&n!=="nati\
ve"?Dl(t,"every_python"):T,A=M(L,L.node[i[S]]),R=x[o[S]]===""?x.length+a[S]:o[S],z=A*(x.length+y.length)+R,F=k.
get(z);F===void 0&&(F=h(A,x[o[S]]||y[a[S]].text,null),k.set(z,F)),d[F].bytes+=u[S],d[F].blocks+=m[S]}for(let S=d.
length-1;S>0;S--)d[d[S].parent].bytes+=d[S].bytes,d[d[S].parent].blocks+=d[S].blocks;let w=S=>{let E=d[S].left;
d[S].children.sort((L,A)=>d[A].bytes-d[L].bytes);for(let L of d[S].children)d[L].left=E,E+=d[L].bytes};for(let S=0;S<
d.length;S++)w(S);return d}var pn=21;function Pl(t){return t.frame===null?"what for":t.frame.kind&1?t.frame.file.
includes("-packages/")?"library":"python":t.frame.kind&8?"emulator":"native"}var ti={"what for":"--flame-what",
python:"--flame-python",library:"--flame-library",native:"--flame-native",emulator:"--flame-emulator"},zs=class{constructor(e,n){
this.model=e;this.chosen=n}model;chosen;element=f("div",{class:"flame"});all=[];root=0;focus=0;found="";show(e,n,s,l){
this.all=va(this.model,e,n),this.root=0,this.focus=0,this.found=l.toLowerCase(),this.draw(s)}draw(e){let{all:n}=this;
if(n[0].bytes===0){re(this.element,f("p",{class:"empty"},"Nothing lived here then."));return}let l=n[this.root],
i=Math.max(200,this.element.clientWidth),o=[],a=[];for(let L=this.root;L!==0;L=n[L].parent)a.push(n[L].parent);
for(let L of a)o.push({at:L,x:0,width:i,row:n[L].depth});let u=[this.root],m=l.depth;for(;u.length;){let L=u.pop(),
A=n[L],R=A.bytes/l.bytes*i;R<.4||(o.push({at:L,x:(A.left-l.left)/l.bytes*i,width:R,row:A.depth}),m=Math.max(m,
A.depth),u.push(...A.children))}let d=(m+1)*pn+1,[h,b]=Vn(i,d,this.words(this.focus)),M=L=>e?d-(L+1)*pn:L*pn,T=de(
"--flame-ink"),k=Object.fromEntries(Object.entries(ti).map(([L,A])=>[L,de(A)])),x=de("--found");b.font="12px s\
ystem-ui, sans-serif",b.textBaseline="middle";let y=0;for(let{at:L,x:A,width:R,row:z}of o){let F=n[L],K=Ls(L===
0?`all: ${G(F.bytes)}`:F.frame&&F.frame.line?`${F.name}  ${us(F.frame).split("/").pop()}`:F.name),D=this.found!==
""&&this.label(F).toLowerCase().includes(this.found);D&&y++,b.globalAlpha=z<l.depth?.5:1,b.fillStyle=D?x:L===0?
de("--raised"):k[Pl(F)],b.fillRect(A,M(z),Math.max(.5,R-1),pn-1),L===this.focus&&this.focus!==0&&(b.strokeStyle=
de("--ink"),b.lineWidth=2,b.strokeRect(A+1,M(z)+1,Math.max(1,R-3),pn-3)),R>24&&(b.fillStyle=L===0?de("--ink"):
T,b.fillText(Nl(b,K,R-8),A+4,M(z)+pn/2))}b.globalAlpha=1;let w=L=>{let A=h.getBoundingClientRect(),[R,z]=[L.clientX-
A.left,L.clientY-A.top];return o.find(({x:F,width:K,row:D})=>z>=M(D)&&z<M(D)+pn&&R>=F&&R<F+Math.max(1,K))?.at};
h.addEventListener("mousemove",L=>{let A=w(L);A===void 0?nt.hide():nt.show(L,...this.lines(A))}),h.addEventListener(
"mouseleave",()=>nt.hide()),h.addEventListener("click",L=>{let A=w(L);A!==void 0&&this.pick(A,e)}),h.addEventListener(
"keydown",L=>this.key(L,e));let S=this.element.contains(document.activeElement),E=this.found===""?null:f("p",{
class:"note"},`${ae(y,"bar")} found`);re(this.element,E,h,this.legend()),S&&h.focus({preventScroll:!0})}legend(){
let e=[["python","your Python"],["library","Python of packages"],["native","native code"],["emulator","the emu\
lator"],["what for","what for"]],n=new Set(this.all.slice(1).map(Pl)),s=e.filter(([l])=>n.has(l));return f("p",
{class:"legend"},...s.map(([l,i])=>f("span",{},f("i",{style:`background: var(${ti[l]})`}),i)))}pick(e,n){nt.hide(),
this.root=e,this.focus=e,this.draw(n);let s=this.all[e],l=[];for(let i=e;i!==0;i=this.all[i].parent)this.all[i].
frame&&l.push(this.all[i].frame);e!==0&&this.chosen({frame:s.frame,name:s.name,bytes:s.bytes,blocks:s.blocks,path:l})}key(e,n){
let s=this.all[this.focus],l=this.all[s.parent].children,i=l.indexOf(this.focus),o=n?"ArrowUp":"ArrowDown",a=n?
"ArrowDown":"ArrowUp";if(e.key===o&&s.children.length)this.focus=s.children[0];else if(e.key===a)this.focus=s.
parent;else if(e.key==="ArrowLeft"&&i>0)this.focus=l[i-1];else if(e.key==="ArrowRight"&&this.focus!==0&&i+1<l.
length)this.focus=l[i+1];else return e.key==="Enter"?this.pick(this.focus,n):e.key==="Escape"?this.pick(0,n):void 0;
e.preventDefault(),this.draw(n)}label(e){return e.frame?`${e.name} ${us(e.frame)}`:e.name}lines(e){let n=this.
all[e],s=[this.label(n),`${G(n.bytes)} in ${ae(n.blocks,"block")}, ${en(n.bytes,this.all[0].bytes)} of all`];return n.
frame?[...s,`${Pl(n)}: ${n.frame.module}`]:s}words(e){return`Calls by bytes. ${this.lines(e).join(". ")}. Arro\
w keys go through the bars, Enter zooms, Escape shows all.`}};function Nl(t,e,n){let s=e.slice(0,Math.ceil(n/3));
if(s===e&&t.measureText(s).width<=n)return s;let[l,i]=[0,s.length];for(;l<i;){let o=l+i+1>>1;t.measureText(s.slice(
0,o)+"\u2026").width<=n?l=o:i=o-1}return s=s.slice(0,l),l>0?s+"\u2026":""}var Bn=26,si=8e6,In=class{constructor(e,n,s,l){this.columns=e;this.by=n;this.down=s;this.chosen=l;this.tall.append(
this.window),this.body.append(this.head,this.tall),this.element.append(this.body),this.element.style.setProperty(
"--columns",e.map(i=>i.width).join(" ")),this.body.addEventListener("scroll",()=>this.draw()),new ResizeObserver(
()=>this.draw()).observe(this.body)}columns;by;down;chosen;element=f("div",{class:"grid",role:"table"});head=f(
"div",{class:"grid-head",role:"row"});body=f("div",{class:"grid-body",tabindex:0,role:"rowgroup"});tall=f("div",
{class:"grid-tall"});window=f("div",{class:"grid-window"});list=new Uint32Array;sorted=new Uint32Array;show(e){
this.list=e,this.sort(),this.body.scrollTop=0,this.draw()}sort(){let{sort:e}=this.columns[this.by];this.sorted=
e?Ll(fs(this.list,e),this.list):this.list.slice(),this.down&&this.sorted.reverse(),re(this.head,...this.columns.
map((n,s)=>{let l=s===this.by,i=l?this.down?" \u25BC":" \u25B2":"",o=f("div",{role:"columnheader",class:n.isNumber?
"number":void 0,"aria-sort":l?this.down?"descending":"ascending":void 0});if(!n.sort)o.append(n.title);else{let a=()=>{
this.down=l?!this.down:n.isNumber===!0,this.by=s,this.sort(),this.draw(),this.head.children[s].firstChild.focus()};
o.append(f("button",{class:"plain",onclick:a},n.title+i))}return o}))}draw(){let e=this.sorted.length,n=Math.min(
si,e*Bn);this.tall.style.height=`${n}px`;let s=(this.body.clientHeight||400)-Bn,l=Math.ceil(s/Bn)+1,i=Math.max(
1,n-s),o=Math.min(1,this.body.scrollTop/i),a=e*Bn<=si,u=a?Math.floor(this.body.scrollTop/Bn):Math.round(o*Math.
max(0,e-l+1));this.window.style.transform=`translateY(${a?u*Bn:this.body.scrollTop}px)`;let m=[];for(let d=u;d<
Math.min(e,u+l);d++){let h=this.sorted[d],b=this.columns.map(k=>f("div",{role:"cell",class:k.isNumber?"number":
void 0},...k.cell(h))),M=()=>this.chosen(h),T=k=>{k.key==="Enter"&&k.target===k.currentTarget&&this.chosen(h)};
m.push(f("div",{class:"grid-row",role:"row",tabindex:0,onclick:M,onkeydown:T},...b))}this.window.replaceChildren(
...m)}};var Ue=-1,Rs=class{constructor(e){this.model=e;let n=e.tables.spaces;this.used=n.map((o,a)=>a).filter(o=>n[o].
changes>0);let s=new Set(e.tables.refusals.map(o=>o.space));for(let o of s)this.used.includes(o)||this.used.push(
o);this.used.sort((o,a)=>o-a);let l=this.used.filter(o=>n[o].device!==null),i=[...l,...this.used].reduce((o,a)=>o<
0||n[a].peak>n[o].peak?a:o,l[0]??-2);this.space=l.length>1?Ue:l[0]??(i>=0?i:n.length>0?0:Ue),this.at=this.byName(
"peak")?.of(this.space)??0,e.tables.start&&(this.named=null,this.at=this.of(e.tables.start,this.space))}model;space;at=0;named="\
peak";view="who";used;listeners=[];usage=new Map;lived=null;listen(e){this.listeners.push(e)}tell(e){for(let n of this.
listeners)n(e)}setMoment(e,n=null){this.at=Math.max(0,Math.min(this.model.steps,e)),this.named=n,this.tell("mo\
ment")}setNamed(e){let n=this.byName(e);n&&this.setMoment(n.of(this.space),e)}setSpace(e){this.space=e;let n=this.
named===null?void 0:this.byName(this.named);n&&(this.at=n.of(e)),this.tell("moment")}setView(e){this.view=e,this.
tell("view")}chosen(e=this.space){let n=this.model.tables.spaces,s=new Uint8Array(Math.max(1,n.length));return e===
Ue?n.forEach((l,i)=>s[i]=l.device===null?0:1):s[e]=1,s}name(e=this.space){return e===Ue?"all devices":this.model.
tables.spaces[e].name}capacity(e=this.space){let n=this.chosen(e);return this.model.tables.spaces.reduce((s,l,i)=>s+
(n[i]?l.capacity:0),0)}inUse(e=this.space){let n=this.usage.get(e);if(n)return n;let{model:s}=this,[l,i,o]=[s.
column("space"),s.column("size"),this.chosen(e)],a=new Float64Array(s.steps),u=0;for(let m=0;m<s.steps;m++){let d=s.
of[m];d!==4294967295&&o[l[d]]&&(u+=s.begin[d]===m?i[d]:-i[d]),a[m]=u}for(let[m,d]of s.tables.replaced)if(o[l[m]])
for(let h=d;h<s.steps;h++)a[h]-=i[m];return this.usage.size>=4&&this.usage.clear(),this.usage.set(e,a),a}inUseAt(e,n=this.
space){return e===0?0:this.inUse(n)[e-1]}of(e,n){return n!==Ue?e[n]??0:e.reduce((s,l,i)=>this.model.tables.spaces[i].
device===null?s:Math.max(s,l),0)}names(){let{model:e}=this,{spaces:n,marks:s,refusals:l}=e.tables,i=[{name:"pe\
ak",text:"Peak",of:u=>u===Ue?this.peakOfAll():n[u].peak_at},{name:"end",text:"End",of:u=>this.end(u)},{name:"l\
ast",text:"Last change",of:()=>e.steps}],o=new Map;for(let{name:u}of s)o.set(u,(o.get(u)??0)+1);let a=new Map;
return s.forEach((u,m)=>{let d=(a.get(u.name)??0)+1;a.set(u.name,d);let h=o.get(u.name)>1?`Mark: ${u.name}#${d}`:
`Mark: ${u.name}`;i.push({name:`mark-${m}`,text:h,of:b=>this.of(u.at,b)})}),l.forEach((u,m)=>i.push({name:`ref\
usal-${m}`,text:`Out of memory ${m+1} in ${n[u.space].name}`,of:d=>this.of(u.at,d)})),i}byName(e){return this.
names().find(n=>n.name===e)}end(e){let{spaces:n}=this.model.tables;return e!==Ue?n[e].end_at:n.filter(l=>l.device!==
null&&l.cleaned_at!==null).reduce((l,i)=>Math.min(l,i.cleaned_at),this.model.steps)}peakOfAll(){let e=this.inUse(
Ue),[n,s]=[0,0];for(let l=0;l<e.length;l++)e[l]>n&&([n,s]=[e[l],l+1]);return s}live(e=this.at,n=this.space){let s=`${e}\
 ${n}`;if(this.lived?.key===s)return this.lived.list;let{model:l}=this,i=this.chosen(n),[o,a,u]=[l.column("spa\
ce"),l.begin,l.end],m=0,d=new Uint32Array(l.allocations);for(let h=0;h<l.allocations&&a[h]<e;h++)u[h]>=e&&i[o[h]]&&
(d[m++]=h);return this.lived={key:s,list:d.slice(0,m)},this.lived.list}made(e,n,s=this.space){let{model:l}=this,
[i,o]=[l.column("space"),this.chosen(s)],a=new Uint32Array(l.allocations),u=0;for(let m=0;m<l.allocations&&l.begin[m]<
n;m++)l.begin[m]>=e&&o[i[m]]&&(a[u++]=m);return a.slice(0,u)}neighbour(e,n){let{model:s}=this,[l,i]=[s.column(
"space"),this.chosen()],o=this.at;for(let a=n;a>0;){let u=e?o+1:o-1;if(u<0||u>s.steps)break;o=u;let m=o===0?4294967295:
s.of[o-1];(o===0||m!==4294967295&&i[l[m]])&&a--}return o}};var tn=16,hs=3,Fs=8,Us=class{constructor(e,n){this.state=e;this.chosen=n}state;chosen;element=f("div",{class:"\
map"});whole=!1;window=null;shown="";show(){let{state:e}=this,{model:n}=e,s=`${e.space}`;if(s!==this.shown&&(this.
window=null),this.shown=s,e.space===Ue){re(this.element,f("p",{class:"empty"},"Addresses are those of one memo\
ry: choose a device above."));return}let l=e.live(),i=e.capacity(),{blocks:o,holes:a}=Ds(e,l,i),[u,m]=[n.column(
"address"),n.column("size")],d=a.length&&a[a.length-1].behind<0?a[a.length-1].address:i,[h,b]=this.window??[0,
this.whole?i:Math.max(512,Math.min(i,d*1.03))],M=Math.max(200,this.element.clientWidth),T=24,k=Math.max(512,Math.
ceil((b-h)/T/512)*512);b=h+k*T;let x=T*(tn+hs),y=`Addresses ${Tt(h)} to ${Tt(b)}: ${ae(o.length,"block")}, ${ae(
a.length,"hole")}`,[w,S]=Vn(M,x,y),E=Wt(n,l,"line"),{of:L,words:A}=Fe(n,"line"),R=Fe(n,"label"),z=new Map(E.slice(
0,Fs).map((C,Y)=>[C.key,Y])),F=Array.from({length:Fs},(C,Y)=>de(`--hue-${Y}`)),[K,D]=[de("--hue-other"),de("--\
hole")],q=ka(S,D,de("--hole-line")),H=de("--paper");for(let C=0;C<T;C++){let Y=Math.min(i,h+(C+1)*k)-(h+C*k);if(Y<=
0)break;S.fillStyle=q,S.fillRect(0,C*(tn+hs),Y/k*M,tn)}let J=(C,Y,Te,se)=>{let te=Math.max(C,h),Ie=Math.min(C+
Y,b);for(;te<Ie;){let _e=Math.floor((te-h)/k),ue=Math.min(Ie,h+(_e+1)*k),ft=(te-h-_e*k)/k*M,ht=(ue-te)/k*M;S.fillStyle=
Te,S.fillRect(ft,_e*(tn+hs),Math.max(.6,ht),tn),se&&ht>3&&(S.fillStyle=se,S.fillRect(ft+ht-.6,_e*(tn+hs),.6,tn)),
te=ue}};for(let C of o){let Y=z.get(L(C));J(u[C],m[C],Y===void 0?K:F[Y],H)}let I=fs(o,C=>u[C]),Q=C=>{let Y=w.getBoundingClientRect(),
Te=Math.floor((C.clientY-Y.top)/(tn+hs)),se=h+Te*k+(C.clientX-Y.left)/M*k;if(se<0||se>=i)return null;let[te,Ie]=[
0,I.length];for(;te<Ie;){let ue=te+Ie>>1;I[ue]<=se?te=ue+1:Ie=ue}let _e=te>0?o[te-1]:void 0;return _e!==void 0&&
se<u[_e]+m[_e]?{block:_e,address:se}:{hole:a.find(ue=>ue.address<=se&&se<ue.address+ue.size),address:se}};w.addEventListener(
"mousemove",C=>{let Y=Q(C);if(!Y)return nt.hide();if(Y.block!==void 0){let Te=`${G(m[Y.block])} at ${Tt(u[Y.block])}`;
nt.show(C,Te,A[L(Y.block)],R.words[R.of(Y.block)])}else Y.hole&&nt.show(C,`hole of ${G(Y.hole.size)} at ${Tt(Y.
hole.address)}`)}),w.addEventListener("mouseleave",()=>nt.hide()),w.addEventListener("click",C=>{let Y=Q(C);Y?.
block!==void 0&&this.chosen(Y.block)});let B=a.reduce((C,Y)=>C+Y.size,0),Ze=a.reduce((C,Y)=>Math.max(C,Y.size),
0),ge=(C,Y)=>f("button",{onclick:Y},C),le=(h+b)/2,oe=k*T/2,ee=(C,Y)=>{let Te=Math.min(Y-C,i),se=Math.max(0,Math.
min(C,i-Te));this.window=[Math.floor(se/512)*512,se+Te],this.show()};re(this.element,f("p",{class:"bar"},f("sp\
an",{},`${G(B)} free in ${ae(a.length,"hole")}, the largest `,f("b",{id:"largest-hole",title:Ce(Ze)},G(Ze))),ge(
"Zoom in",()=>ee(le-oe/2,le+oe/2)),ge("Zoom out",()=>ee(le-oe*2,le+oe*2)),ge("\u25C0",()=>ee(h-oe,b-oe)),ge("\u25B6",
()=>ee(h+oe,b+oe)),ge(this.whole?"Used part":"Whole memory",()=>{this.whole=!this.whole,this.window=null,this.
show()}),f("span",{class:"soft"},`${Tt(h)} to ${Tt(Math.min(b,i))}, a row is ${G(k)}`)),w,f("p",{class:"legend"},
...E.slice(0,Fs).map((C,Y)=>f("span",{},f("i",{style:`background: var(--hue-${Y})`}),...Re(C.words),` ${G(C.bytes)}`)),
E.length>Fs&&f("span",{},f("i",{style:"background: var(--hue-other)"}),"others"),f("span",{},f("i",{class:"hat\
ched"}),"hole")),f("h3",{},"Largest holes, and what stands on both sides"),this.holes(a,ee))}holes(e,n){let{model:s}=this.
state,{words:l,of:i}=Fe(s,"line"),o=s.column("size"),a=(d,h)=>d<0?f("td",{class:"soft"},h):f("td",{},f("button",
{class:"plain",onclick:()=>this.chosen(d)},G(o[d]))," ",...Re(l[i(d)])),m=[...e].sort((d,h)=>h.size-d.size).slice(
0,50).map(d=>f("tr",{},f("td",{class:"number",title:Ce(d.size)},f("button",{class:"plain",onclick:()=>n(d.address-
d.size/4,d.address+d.size*1.25)},G(d.size))),f("td",{class:"number"},Tt(d.address)),a(d.before,"begin of the m\
emory"),a(d.behind,"end of the memory")));return f("div",{class:"scroll"},f("table",{id:"holes"},f("thead",{},
f("tr",{},...["Hole","Address","Before it","Behind it"].map((d,h)=>f("th",{class:h<2?"number":void 0},d)))),f(
"tbody",{},...m)))}};function ka(t,e,n){let s=document.createElement("canvas");[s.width,s.height]=[6,6];let l=s.
getContext("2d");return l.fillStyle=e,l.fillRect(0,0,6,6),l.strokeStyle=n,l.beginPath(),l.moveTo(0,6),l.lineTo(
6,0),l.stroke(),t.createPattern(s,"repeat")??e}function li(t,e,n){let s=new Map;if(t.names.size>0){let{of:l}=Fe(t,n);for(let i of e){let o=t.names.get(i);o&&
s.set(l(i),[...s.get(l(i))??[],...o])}}return l=>s.get(l.key)??[]}function Gn(t,e,n,s=200,l=()=>[]){let i=t.reduce(
(u,m)=>u+m.bytes,0),o=t.slice(0,s).map(u=>{let m=()=>n(u),d=b=>{b.key==="Enter"&&b.target===b.currentTarget&&m()},
h=Math.max(0,u.bytes-u.logical);return f("tr",{class:"opens",tabindex:0,onclick:m,onkeydown:d,"data-bytes":u.bytes,
"data-blocks":u.blocks,"data-key":u.words},f("td",{class:"share"},f("i",{style:`width: ${u.bytes/Math.max(1,e)*
100}%`})),f("td",{class:"number",title:Ce(u.bytes)},G(u.bytes)),f("td",{class:"number"},en(u.bytes,i)),f("td",
{class:"number"},$e(u.blocks)),f("td",{class:"number",title:Ce(h)},h?G(h):"\u2013"),f("td",{class:"key",title:u.
words},...Re(u.words),...Sa(l(u))))}),a=["","Bytes","Share","Blocks","Padding","Origin"].map((u,m)=>f("th",{class:m>
0&&m<5?"number":void 0},u));return f("div",{class:"scroll"},f("table",{class:"sums"},f("thead",{},f("tr",{},...a)),
f("tbody",{},...o)),t.length>s&&f("p",{class:"soft"},`${ae(t.length-s,"other row")} with less: search for them\
.`))}function xa(t,e){let n=e.toLowerCase();return n===""?t:t.filter(s=>s.words.toLowerCase().includes(n))}function zl(t,e){
let n=f("input",{type:"search",placeholder:t,"aria-label":t,oninput:()=>e(n.value)});return n}function Sa(t){if(t.
length===0)return[];let e=t.length>1?` and ${ae(t.length-1,"other name")}`:"";return[f("p",{class:"soft kept",
title:t.slice(0,30).join(`
`)},`kept by ${t[0]}${e}`)]}function Ma(t,e){if(t.names.size===0)return null;let[n,s]=[t.column("size"),Fe(t,"\
line")],l=Array.from(e).flatMap(a=>(t.names.get(a)??[]).map(u=>({allocation:a,name:u}))).sort((a,u)=>n[u.allocation]-
n[a.allocation]);if(l.length===0)return f("p",{class:"soft"},"No name of Python keeps them.");let i=l.slice(0,
500).map(({allocation:a,name:u})=>f("tr",{"data-name":u},f("td",{class:"number",title:Ce(n[a])},G(n[a])),f("td",
{},u),f("td",{class:"key"},...Re(s.words[s.of(a)])))),o=["Bytes","Kept by","Taken by"].map((a,u)=>f("th",{class:u?
void 0:"number"},a));return f("div",{class:"scroll"},f("h3",{},"What keeps them"),f("table",{id:"keepers"},f("\
thead",{},f("tr",{},...o)),f("tbody",{},...i)),l.length>500&&f("p",{class:"soft"},`${ae(l.length-500,"other na\
me")} of smaller arrays.`))}function oi(t,e){let[n,s]=["line",""],l=f("h2",{}),i=f("div",{}),o=tt("By",$l,n,d=>(n=
d,m())),a=zl("Search origins",d=>(s=d,m())),u=f("section",{},f("p",{class:"bar"},l,o,a),i),m=()=>{let d=t.live(),
h=Cs(t.model,d);re(l,"Who held ",f("b",{id:"held-bytes",title:Ce(h.bytes),"data-bytes":h.bytes},G(h.bytes)),` \
in ${ae(d.length,"block")}`);let b=xa(Wt(t.model,d,n),s),M=k=>{let{of:x}=Fe(t.model,n);e.blocks(Re(k.words),d.
filter(y=>x(y)===k.key))},T=li(t.model,d,n);re(i,b.length?Gn(b,b[0].bytes,M,200,T):f("p",{class:"empty"},d.length?
"No origin has these words.":"Nothing lived here then."))};return{name:"who",title:"Who",element:u,show:m}}function ii(t,e){
let[n,s,l,i]=["python","live","icicle",""],o=new zs(t.model,({frame:m,name:d,bytes:h,blocks:b,path:M})=>{let T=`${G(
h)} in ${ae(b,"block")}`;e.calls(m?d:`What for: ${d}`,T,M)}),a=f("section",{},f("p",{class:"bar"},tt("Frames",
[["python","Python"],["mixed","Python and native"],["native","All, the interpreter's too"]],n,m=>(n=m,u())),tt(
"Blocks",[["live","that live"],["allocated","allocated until then"]],s,m=>(s=m,u())),tt("Form",[["icicle","ici\
cle, callers above"],["flame","flames, callers below"]],l,m=>(l=m,u())),zl("Search calls",m=>(i=m,u()))),o.element),
u=()=>o.show(s==="live"?t.live():t.made(0,t.at),n,l==="flame",i);return{name:"flame",title:"Flame graph",element:a,
show:u}}function ri(t,e){let n=new Us(t,l=>e.block(l));return{name:"map",title:"Address map",element:f("sectio\
n",{},n.element),show:()=>n.show()}}function ai(t,e){let{model:n}=t,[s,l]=["live",""],i=Fe(n,"line"),o=Fe(n,"l\
abel"),[a,u,m,d,h]=["size","address","site","site_spec","space"].map(A=>n.column(A)),b=n.column("time"),M=A=>{
let R=new Float64Array(A.length);return Array.from(A.keys()).sort((z,F)=>A[z]<A[F]?-1:A[z]>A[F]?1:0).forEach((z,F)=>R[z]=
F),R},[T,k,x]=[M(i.words),M(o.words),M(n.tables.specs.map(A=>A.text))],y=A=>{let R=n.end[A];return R===4294967295?
Number.MAX_SAFE_INTEGER:b[R]-b[n.begin[A]]},w=new In([{title:"Bytes",width:"minmax(5.5rem, 0.7fr)",isNumber:!0,
sort:A=>a[A],cell:A=>[G(a[A])]},{title:"Origin",width:"minmax(9rem, 3fr)",sort:A=>T[i.of(A)],cell:A=>Re(i.words[i.
of(A)])},{title:"What for",width:"minmax(8rem, 3fr)",sort:A=>k[o.of(A)],cell:A=>[o.words[o.of(A)]]},{title:"Ar\
ray",width:"minmax(7rem, 2fr)",sort:A=>x[d[m[A]]],cell:A=>[n.tables.specs[d[m[A]]].text]},{title:"Address",width:"\
minmax(6rem, 0.9fr)",isNumber:!0,sort:A=>u[A],cell:A=>[Tt(u[A])]},{title:"Taken",width:"minmax(6rem, 0.9fr)",isNumber:!0,
sort:A=>n.begin[A],cell:A=>[Ne(b[n.begin[A]])]},{title:"Lived",width:"minmax(5rem, 0.8fr)",isNumber:!0,sort:y,
cell:A=>[n.end[A]===4294967295?"to the end":ut(y(A))]},{title:"Memory",width:"minmax(4.5rem, 0.7fr)",sort:A=>h[A],
cell:A=>[n.tables.spaces[h[A]].name]},...n.names.size>0?[{title:"Kept by",width:"minmax(8rem, 2fr)",cell:A=>[(n.
names.get(A)??[]).join(", ")]}]:[]],0,!0,A=>e.block(A)),S=f("span",{class:"soft",id:"allocation-count"}),E=f("\
section",{},f("p",{class:"bar"},tt("Blocks",[["live","that live"],["allocated","allocated until then"],["all",
"all of the trace"]],s,A=>(s=A,L())),zl("Search allocations",A=>(l=A,L())),S),w.element),L=()=>{let A=s==="liv\
e"?t.live():t.made(0,s==="all"?n.steps:t.at),R=l.toLowerCase();if(R!==""){let[F,K]=["site_line","site_label"].
map(Q=>n.column(Q)),D=Q=>Q.toLowerCase().includes(R),[q,H]=[i.words.map(D),o.words.map(D)],J=n.tables.specs.map(
Q=>D(Q.text)),I=Uint8Array.from(d,(Q,B)=>Number(q[F[B]]||H[K[B]]||J[Q]));A=A.filter(Q=>I[m[Q]]===1)}let z=A.reduce(
(F,K)=>F+a[K],0);re(S,`${ae(A.length,"block")}, ${G(z)}`),w.show(A)};return{name:"allocations",title:"Allocati\
ons",element:E,show:L}}function ci(t,e){let{model:n}=t,s=[["start","Start of the trace"],...t.names().map(({name:h,
text:b})=>[h,b]),["now","Chosen moment"]],[l,i]=[t.model.tables.marks.length?"mark-0":"start","end"],o="line",
a=h=>h==="start"?0:h==="now"?t.at:t.byName(h).of(t.space),u=f("div",{}),m=f("section",{},f("p",{class:"bar"},tt(
"Taken after",s,l,h=>(l=h,d())),tt("and held at",s,i,h=>(i=h,d())),tt("By",$l,o,h=>(o=h,d()))),u),d=()=>{let[h,
b]=[a(l),a(i)];if(b<=h){re(u,f("p",{class:"empty"},"The second moment is not behind the first one."));return}let M=t.
live(b).filter(y=>n.begin[y]>=h),T=Wt(n,M,o),k=Cs(n,M),x=y=>{let{of:w}=Fe(n,o);e.blocks(Re(y.words),M.filter(S=>w(
S)===y.key))};re(u,f("h2",{},f("b",{id:"leaked-bytes","data-bytes":k.bytes,title:Ce(k.bytes)},G(k.bytes)),` in\
 ${ae(M.length,"block")} taken after ${Ne(h===0?0:n.timeAt(h))} and held at ${Ne(n.timeAt(b))}`),T.length?Gn(T,
T[0].bytes,x,200,li(n,M,o)):f("p",{class:"empty"},"Nothing was taken in between and is still held."),T.length?
Ma(n,M):null,T.length?Aa(n,M,o,T,h,b):null)};return{name:"leaks",title:"Leaks",element:m,show:d}}function Aa(t,e,n,s,l,i){
let o=s.slice(0,10),{of:a}=Fe(t,n),[u,m]=[t.timeAt(Math.max(1,l)),t.timeAt(i)],d=40,h=new Map(o.map(T=>[T.key,
new Uint32Array(d)])),b=t.column("time");for(let T of e){let k=h.get(a(T));k&&k[Math.min(d-1,Math.floor((b[t.begin[T]]-
u)/Math.max(1,m-u)*d))]++}let M=o.map(T=>{let k=h.get(T.key),x=Math.max(...k),y=k.filter(E=>E>0).length,w=Array.
from(k,E=>f("i",{style:`height: ${E?Math.max(2,E/x*18):0}px`})),S=y>=d*.6?"all the time":y<=2?"at one time":`i\
n ${y} of ${d} parts of the time`;return f("tr",{},f("td",{},f("div",{class:"bins"},...w)),f("td",{class:"soft"},
S),f("td",{class:"key"},...Re(T.words)))});return f("div",{class:"scroll"},f("h3",{},"When they were taken"),f(
"table",{},f("tbody",{},...M)))}function ui(t,e){let{model:n}=t,s=f("section",{});return{name:"padding",title:"\
Padding",element:s,show:()=>{let i=t.live(),o=Cs(n,i),a=h=>h.bytes-h.logical,[u,m]=["array","line"].map(h=>Wt(
n,i,h).filter(b=>a(b)>0).sort((b,M)=>a(M)-a(b))),d=(h,b,M)=>{let T=b==="array"&&n.tables.specs.some(w=>w.advice!==
""),k=h.length?a(h[0]):1,x=h.slice(0,200).map(w=>{let S=()=>{let{of:L}=Fe(n,b);e.blocks(Re(w.words),i.filter(A=>L(
A)===w.key))};return f("tr",{class:"opens",tabindex:0,onclick:S,onkeydown:L=>{L.key==="Enter"&&L.target===L.currentTarget&&
S()},"data-lost":a(w)},f("td",{class:"share"},f("i",{style:`width: ${a(w)/k*100}%`})),f("td",{class:"number",title:Ce(
a(w))},G(a(w))),f("td",{class:"number"},en(a(w),w.bytes)),f("td",{class:"number"},G(w.bytes)),f("td",{class:"n\
umber"},$e(w.blocks)),f("td",{class:"key",title:w.words},...Re(w.words)),T&&f("td",{},n.tables.specs[w.key].advice))}),
y=["","Lost","Of it","In memory","Blocks",M,...T?["What would avoid it"]:[]];return f("div",{class:"scroll"},f(
"table",{class:"sums"},f("thead",{},f("tr",{},...y.map((w,S)=>f("th",{class:S>0&&S<5?"number":void 0},w)))),f(
"tbody",{},...x)))};re(s,f("h2",{},f("b",{id:"padding-bytes","data-bytes":o.bytes-o.logical,title:Ce(o.bytes-o.
logical)},G(o.bytes-o.logical)),` of ${G(o.bytes)} are padding (${en(o.bytes-o.logical,o.bytes)})`),f("p",{class:"\
soft"},"Padding is what tiles of the device's layout and the heap's rounding add to the elements of an array."),
...u.length?[f("h3",{},"By array type"),d(u,"array","Array type"),f("h3",{},"By line"),d(m,"line","Origin")]:[
f("p",{class:"empty"},"Nothing that lived then had any.")])}}}function Ta(t,e){let n=t.largest.map(({size:i,array:o,
operation:a,line:u})=>f("tr",{},f("td",{class:"number",title:Ce(i)},G(i)),f("td",{},a),f("td",{},o),f("td",{class:"\
key"},...Re(u)))),s=["Bytes","Operation","Array","Line"].map((i,o)=>f("th",{class:o?void 0:"number"},i)),l=f("\
details",{open:!0,class:"refusal"});return ze(l,f("summary",{},f("b",{},`\u2715 ${t.program} needs ${G(t.needed)}\
 of ${G(t.available)}`),` at ${Ne(t.time)}`),f("p",{},"It was refused when it was compiled",t.line?", by ":"",
...Re(t.line),`. Arguments ${G(t.arguments)}, results ${G(t.results)}, temporaries ${G(t.temporaries)}; its st\
atic plan is among the programs.`),f("p",{class:"bar"},f("button",{onclick:()=>e.one("Who had it compiled",t.words,
t.stack)},"Show who had it compiled")),t.advice.length>0&&f("h3",{},"What would make it fit, each checked by c\
ompiling it"),t.advice.length>0&&f("ul",{class:"helps"},...t.advice.map(i=>f("li",{},i))),t.largest.length>0&&
f("h3",{},"Its largest temporaries, where they take most"),t.largest.length>0&&f("div",{class:"scroll"},f("tab\
le",{},f("thead",{},f("tr",{},...s)),f("tbody",{},...n)))),l}function fi(t,e){let{model:n}=t,{refusals:s,refused_programs:l,
spaces:i}=n.tables,o=f("section",{}),a=!1;return{name:"refusals",title:"Out of memory",element:o,show:()=>{if(a)
return;a=!0;let m=l.slice(0,50).map(h=>Ta(h,e));if(m.length&&ze(o,f("h2",{},ae(l.length,"program")," not compi\
led for want of memory"),...m),l.length>50&&o.append(f("p",{class:"soft"},`The first 50 of ${$e(l.length)} are\
 shown.`)),s.length===0&&l.length>0)return;if(s.length===0){re(o,f("p",{class:"empty"},"No allocation of this \
trace found no room."));return}let d=s.slice(0,50).map((h,b)=>{let M=h.at[h.space],T=t.live(M,h.space).slice(),
k=i[h.space],x=n.tables.specs[h.spec],y=t.inUseAt(M,h.space),w=Wt(n,T,"line"),S=Ds(t,T,k.capacity).holes,E=h.holes??
{free:S.reduce((q,H)=>q+H.size,0),largest:S.reduce((q,H)=>Math.max(q,H.size),0),count:S.length},L=q=>{let{of:H}=Fe(
n,"line");e.blocks(Re(q.words),T.filter(J=>H(J)===q.key))},A=n.tables.labels[h.label],{advice:R,careful:z}=h.autopsy??
{advice:[],careful:[]},[F,K]=[!0,!1].map(q=>R.filter(([H])=>H===q).map(([,H])=>f("li",{},H))),D=f("details",{open:b===
0,class:"refusal"});return ze(D,f("summary",{},f("b",{},`\u2715 ${k.name} had no room for ${G(h.size)}`),` at ${Ne(
h.time)}`),f("p",{},`Asked for ${Ce(h.size)}: ${A||x.text}, by ${n.tables.keys.entry[h.entry]}.`),f("p",{},`${G(
y)} of ${G(k.capacity)} were in use, ${G(E.free)} free in ${ae(E.count,"hole")}, the largest ${G(E.largest)}.`,
E.free>=h.size&&E.largest<h.size?" There was enough, but not in one piece.":null),f("p",{class:"bar"},f("butto\
n",{onclick:()=>{t.setSpace(h.space),t.setNamed(`refusal-${b}`),t.setView("map")}},"Show the address map of th\
is moment"),f("button",{onclick:()=>e.one("Who asked",`For ${Ce(h.size)}`,h.stack)},"Show who asked")),...z.map(
q=>f("p",{class:"careful"},`${q}.`)),F.length>0&&f("h3",{},"What would make it fit, each checked by replay"),F.
length>0&&f("ul",{class:"helps"},...F),K.length>0&&f("h3",{},"What would not"),K.length>0&&f("ul",{},...K),h.autopsy===
null&&f("p",{class:"soft"},"It was not replayed; the first ten are, and tpu-emu autopsy replays any."),f("h3",
{},"Who held the memory"),w.length?Gn(w,w[0].bytes,L,20):f("p",{class:"empty"},"Nothing: it is larger than the\
 memory.")),D});ze(o,f("h2",{},ae(s.length,"allocation")," without room"),...d),s.length>50&&o.append(f("p",{class:"\
soft"},`The first 50 of ${$e(s.length)} are shown.`))}}}function mi(t){let e=new Map;for(let[,l,,i,o]of t.slots)e.set(i,(e.get(i)??0)+l),e.set(o+1,(e.get(o+1)??0)-l);
let[n,s]=[0,{position:0,bytes:0}];for(let l of[...e.keys()].sort((i,o)=>i-o))n+=e.get(l),n>s.bytes&&(s={position:l,
bytes:n});return s}function Ea(t,e){let[l,i]=Vn(e,300,`Static plan of ${t.name}: ${ae(t.slots.length,"temporar\
y slot")}`),o=t.slots.reduce((x,y)=>Math.max(x,y[0]+y[1]),1),a=Math.max(t.positions,t.slots.reduce((x,y)=>Math.
max(x,y[4]+1),1)),u=x=>70+x/a*(e-70-4),m=x=>278-x/o*270;i.font="11px system-ui, sans-serif",i.fillStyle=de("--\
soft");for(let x=0;x<=4;x++)i.fillText(G(o*x/4),2,m(o*x/4)+4);i.fillText("first operation",70,294);let d=`oper\
ation ${$e(a)}`;i.fillText(d,e-i.measureText(d).width-4,294);let h=x=>[u(x[3]),m(x[0]+x[1]),Math.max(1,u(x[4]+
1)-u(x[3])),Math.max(1,m(x[0])-m(x[0]+x[1]))],b=[...new Set(t.slots.map(x=>x[6]))].sort(),M=de("--flame-ink"),
T=de("--paper");for(let x of t.slots){let[y,w,S,E]=h(x);i.fillStyle=de(`--hue-${b.indexOf(x[6])%8}`),i.fillRect(
y,w,S,E),S>3&&E>3&&(i.strokeStyle=T,i.lineWidth=.7,i.strokeRect(y,w,S,E)),S>40&&E>12&&(i.fillStyle=M,i.fillText(
Nl(i,x[6].replace("stablehlo.",""),S-6),y+3,w+Math.min(E/2+4,E-2)))}let k=mi(t);return i.strokeStyle=de("--ink"),
i.setLineDash([4,3]),i.beginPath(),i.moveTo(u(k.position+.5),4),i.lineTo(u(k.position+.5),278),i.stroke(),l.addEventListener(
"mousemove",x=>{let y=l.getBoundingClientRect(),[w,S]=[x.clientX-y.left,x.clientY-y.top],E=t.slots.find(L=>{let[
A,R,z,F]=h(L);return w>=A&&w<=A+z&&S>=R&&S<=R+F});E?nt.show(x,`${E[6]}  ${E[5]}`,`${G(E[1])} at ${$e(E[0])}, o\
perations ${E[3]} to ${E[4]}`,E[7]):nt.hide()}),l.addEventListener("mouseleave",()=>nt.hide()),l}function hi(t,e,n=!0){
let s=mi(t),l=t.slots.filter(a=>a[3]<=s.position&&a[4]>=s.position).sort((a,u)=>u[1]-a[1]),i=l.slice(0,100).map(
([,a,u,m,d,h,b,M])=>f("tr",{},f("td",{class:"number",title:Ce(a)},G(a)),f("td",{class:"number"},a>u?G(a-u):"\u2013"),
f("td",{},b),f("td",{},h),f("td",{class:"number"},`${m}\u2013${d}`),f("td",{class:"key"},...Re(M)))),o=["Bytes",
"Padding","Operation","Array","Lives","Line"].map((a,u)=>f("th",{class:u<2||u===4?"number":void 0},a));return f(
"div",{},n&&Ea(t,e),f("h3",{},`Temporaries at their peak, operation ${$e(s.position)}: ${G(s.bytes)} in ${ae(l.
length,"slot")}`),f("div",{class:"scroll"},f("table",{},f("thead",{},f("tr",{},...o)),f("tbody",{},...i))))}function _a(t,e){
let{model:n}=t,{programs:s}=n.tables,[l,i,o,a,u,m,d,h]=["time","waited","ran","program","device","run","status",
"stack"].map(y=>n.column(`launch_${y}`)),b=f("div",{}),[M,T]=["one",0],k=new In([{title:"Launched",width:"minm\
ax(6rem, 1fr)",isNumber:!0,sort:y=>l[y],cell:y=>[Ne(l[y])]},{title:"Program",width:"minmax(8rem, 3fr)",sort:y=>a[y],
cell:y=>[s[a[y]].name]},{title:"Device",width:"minmax(4rem, 0.7fr)",isNumber:!0,sort:y=>u[y],cell:y=>[$e(u[y])]},
{title:"Run",width:"minmax(4rem, 0.7fr)",isNumber:!0,sort:y=>m[y],cell:y=>[$e(m[y])]},{title:"Waited",width:"m\
inmax(5rem, 0.8fr)",isNumber:!0,sort:y=>i[y],cell:y=>[ut(i[y])]},{title:"Ran",width:"minmax(5rem, 0.8fr)",isNumber:!0,
sort:y=>o[y],cell:y=>[ut(o[y])]},{title:"Ended",width:"minmax(5rem, 1fr)",sort:y=>d[y],cell:y=>[d[y]?`\u2715 error ${d[y]}`:
"well"]}],0,!1,y=>{let w=d[y]?`ended with error ${d[y]}`:"ended well",S=`Launched at ${Ne(l[y])} on device ${u[y]}\
, waited ${ut(i[y])}, ran ${ut(o[y])}, ${w}.`;e.one(`Run ${$e(m[y])} of ${s[a[y]].name}`,S,h[y])}),x=y=>{T=y;let w=Uint32Array.
from(l.keys()).filter(E=>M==="all"||a[E]===T),S=w.reduce((E,L)=>E+o[L],0);re(b,f("p",{class:"bar"},f("h3",{},"\
Launches"),tt("Of",[["one",s[T].name],["all","all programs"]],M,E=>(M=E,x(T))),f("span",{class:"soft",id:"laun\
ch-count","data-count":w.length},`${ae(w.length,"launch","launches")}, ran for ${ut(S)}`)),...w.length?[k.element]:
[f("p",{class:"empty"},"It was not launched, or no launch of it has ended.")]),w.length&&k.show(w)};return{element:b,
show:x}}function di(t,e){let{model:n}=t,{programs:s,format:l}=n.tables,i=f("section",{}),o=_a(t,e),a="own",u=s.
reduce((d,h,b)=>h.temporaries>(s[d]?.temporaries??-1)?b:d,0),m=()=>{if(re(i),s.length>0){let M=s[u],T=f("div",
{class:"plan"}),k=s.map((w,S)=>({program:w,at:S})).sort((w,S)=>S.program.temporaries-w.program.temporaries).map(
({program:w,at:S})=>f("tr",{class:S===u?"chosen":void 0},f("td",{},f("button",{class:"plain",onclick:()=>(u=S,
m())},w.name)),...[w.temporaries,w.constants,w.arguments,w.results].map(E=>f("td",{class:"number",title:Ce(E)},
G(E))),f("td",{class:"number"},$e(w.slots.length)),f("td",{class:"number"},$e(w.runs)),f("td",{class:"number"},
w.runs?ut(w.ran):"\u2013"))),x=["Program","Temporaries","Constants","Arguments","Results","Slots","Runs","Ran \
for"].map((w,S)=>f("th",{class:S?"number":void 0},w));ze(i,f("h2",{},ae(s.length,"program")," with static plan\
s"),f("div",{class:"scroll short"},f("table",{id:"programs"},f("thead",{},f("tr",{},...x)),f("tbody",{},...k))),
f("h3",{},`${M.name}: temporaries over its operations`),f("p",{class:"soft",id:"planner"},M.planner?`Its sizes\
 are those that ${M.planner} has planned; values run by tpu-emu's plan.`:"Planned by tpu-emu."),M.others.length>
0&&f("p",{class:"bar"},tt("Temporaries of",[["own","tpu-emu's plan"],["other",M.planner]],a,w=>(a=w,m()))),T,o.
element);let y=Math.max(300,i.clientWidth);a==="other"&&M.others.length?re(T,hi({...M,slots:M.others,positions:M.
other_positions},y,!1)):M.slots.length?re(T,hi(M,y)):re(T,f("p",{class:"empty"},"This program has no temporari\
es.")),o.show(u)}else{let M=l[1]<5?`This trace has no static plans: they are written since format 1.5, and it \
is of ${l.join(".")}.`:"No program was launched, so there is no static plan.";ze(i,f("p",{class:"missing"},M))}
let d=t.live(),h=Wt(n,d,"executable"),b=M=>{let{of:T}=Fe(n,"executable");e.blocks([M.words],d.filter(k=>T(k)===
M.key))};ze(i,f("h2",{},"What programs held at the chosen moment"),h.length?Gn(h,h[0].bytes,b):f("p",{class:"e\
mpty"},"Nothing lived here then."))};return{name:"programs",title:"Programs",element:i,show:m}}var $a=["instan\
tiate","prepare","initialize","execute"],La=1024;function pi(t,e){let{model:n}=t,{calls:s,entries:l,dispatches:i,
dispatched:o,faults:a,format:u}=n.tables,m=f("section",{}),d=!1,h=(T,k=!0)=>f("td",{class:k?"number":void 0},T),
b=(T,k,x,y)=>f("div",{class:"scroll"},f("table",{id:T},f("thead",{},f("tr",{},...k.map((w,S)=>f("th",{class:S<
k.length-x&&S>0?"number":void 0},w)))),f("tbody",{},...y)));return{name:"calls",title:"Calls",element:m,show:()=>{
if(!d){if(d=!0,s.length){let T=new Map;for(let x of s){let y=T.get(x.function);y||T.set(x.function,y={name:x.function,
count:0,nanos:0,bytes:0,errors:0,first:1/0,unseen:0,stacks:new Set,largest:x}),y.count+=x.count,y.nanos+=x.nanos,
y.bytes+=x.bytes,y.errors+=x.errors,y.first=Math.min(y.first,x.first),x.stack===0?y.unseen+=x.count:y.stacks.add(
x.stack),x.stack!==0&&(y.largest.stack===0||x.nanos>y.largest.nanos)&&(y.largest=x)}let k=[...T.values()].sort(
(x,y)=>y.nanos-x.nanos).map(x=>{let y=x.count>La?"\u2248 ":"",w=x.unseen?` and, of ${ae(x.unseen,"call")}, fro\
m stacks that were not taken`:"",S=`${ae(x.count,"call")} from ${ae(x.stacks.size,"stack")}${w}; of the one th\
at took longest:`;return f("tr",{"data-count":x.count},f("td",{},f("button",{class:"plain",onclick:()=>e.one(l[x.
name],S,x.largest.stack)},l[x.name])),h($e(x.count)),h(y+ut(x.nanos)),h(y+ut(x.nanos/Math.max(1,x.count))),h(G(
x.bytes)),h(x.errors?`\u2715 ${$e(x.errors)}`:"\u2013"),h($e(x.stacks.size)+(x.unseen?"+":"")),h(Ne(x.first)))});
ze(m,f("h2",{},"Calls of the interface"),b("calls",["Function","Calls","Time","Each","Bytes","Errors","Stacks",
"First"],0,k))}else{let T=u[1]<5?`This trace has no counts of calls: they are written since format 1.5, and it\
 is of ${u.join(".")}.`:"This trace has no counts of calls: they were switched off (TPU_EMU_CALLS=off), or not\
hing was called.",k=t.made(0,n.steps),x=Wt(n,k,"entry"),y=w=>{let{of:S}=Fe(n,"entry");e.blocks([w.words],k.filter(
E=>S(E)===w.key))};ze(m,f("p",{class:"missing"},T),f("h2",{},"Functions that took memory, over the whole trace"),
x.length?Gn(x,x[0].bytes,y):f("p",{class:"empty"},"None."))}if(o){let T=i.map(k=>f("tr",{},f("td",{},f("button",
{class:"plain",onclick:()=>e.one(k.target,k.line,k.stack)},k.target)),h($e(k.count)),h(ut(k.nanos)),h(G(k.scratch)),
h(k.errors?`\u2715 ${$e(k.errors)}`:"\u2013"),h($a[k.stage]??String(k.stage),!1),h(k.program,!1),f("td",{title:k.
error},...Re(k.line),k.error?`: ${k.error}`:"")));ze(m,f("h2",{},"Custom calls"),b("dispatches",["Target","Sta\
ges","Time","Scratch","Errors","Stage","Program","Line"],3,T))}if(a.length){let T=a.slice(0,500).map(k=>f("tr",
{},f("td",{},f("button",{class:"plain",onclick:()=>e.one(k.entry||"A refused call",k.message,k.stack)},k.entry||
"outside of the API")),h(Ne(k.time)),h(k.message,!1)));ze(m,f("h2",{},"Calls that were refused because of what\
 they were given"),b("faults",["Function","Time","What was wrong"],1,T))}}}}}var Pa="uplot",Ca="u-hz",Da="u-vt",Na="u-title",za="u-wrap",Ra="u-under",Fa="u-over",Ua="u-axis",yn="u-off",Ha="\
u-select",Oa="u-cursor-x",Va="u-cursor-y",Wa="u-cursor-pt",Ba="u-legend",Ia="u-live",Ga="u-inline",Ka="u-serie\
s",Ya="u-marker",gi="u-label",ja="u-value",ds="width",ps="height";var bi="bottom",Kn="left",Rl="right",Xl="#000",yi=Xl+"0",Fl="mousemove",wi="mousedown",Ul="mouseup",vi="mousee\
nter",ki="mouseleave",xi="dblclick",qa="resize",Ja="scroll",Si="change",Bs="dppxchange",eo="--",Xn=typeof window<
"u",Bl=Xn?document:null,jn=Xn?window:null,Za=Xn?navigator:null,pe,Hs;function Il(){let t=devicePixelRatio;pe!=
t&&(pe=t,Hs&&Kl(Si,Hs,Il),Hs=matchMedia(`(min-resolution: ${pe-.001}dppx) and (max-resolution: ${pe+.001}dppx)`),
wn(Si,Hs,Il),jn.dispatchEvent(new CustomEvent(Bs)))}function bt(t,e){if(e!=null){let n=t.classList;!n.contains(
e)&&n.add(e)}}function Gl(t,e){let n=t.classList;n.contains(e)&&n.remove(e)}function Ae(t,e,n){t.style[e]=n+"p\
x"}function Dt(t,e,n,s){let l=Bl.createElement(t);return e!=null&&bt(l,e),n?.insertBefore(l,s),l}function Et(t,e){
return Dt("div",t,e)}var Mi=new WeakMap;function Bt(t,e,n,s,l){let i="translate("+e+"px,"+n+"px)",o=Mi.get(t);
i!=o&&(t.style.transform=i,Mi.set(t,i),e<0||n<0||e>s||n>l?bt(t,yn):Gl(t,yn))}var Ai=new WeakMap;function Ti(t,e,n){
let s=e+n,l=Ai.get(t);s!=l&&(Ai.set(t,s),t.style.background=e,t.style.borderColor=n)}var Ei=new WeakMap;function _i(t,e,n,s){
let l=e+""+n,i=Ei.get(t);l!=i&&(Ei.set(t,l),t.style.height=n+"px",t.style.width=e+"px",t.style.marginLeft=s?-e/
2+"px":0,t.style.marginTop=s?-n/2+"px":0)}var to={passive:!0},Qa={...to,capture:!0};function wn(t,e,n,s){e.addEventListener(
t,n,s?Qa:to)}function Kl(t,e,n,s){e.removeEventListener(t,n,to)}Xn&&Il();function Nt(t,e,n,s){let l;n=n||0,s=s||
e.length-1;let i=s<=2147483647;for(;s-n>1;)l=i?n+s>>1:yt((n+s)/2),e[l]<t?n=l:s=l;return t-e[n]<=e[s]-t?n:s}function nr(t){
return(n,s,l)=>{let i=-1,o=-1;for(let a=s;a<=l;a++)if(t(n[a])){i=a;break}for(let a=l;a>=s;a--)if(t(n[a])){o=a;
break}return[i,o]}}var sr=t=>t!=null,lr=t=>t!=null&&t>0,Ks=nr(sr),Xa=nr(lr);function ec(t,e,n,s=0,l=!1){let i=l?
Xa:Ks,o=l?lr:sr;[e,n]=i(t,e,n);let a=t[e],u=t[e];if(e>-1)if(s==1)a=t[e],u=t[n];else if(s==-1)a=t[n],u=t[e];else
for(let m=e;m<=n;m++){let d=t[m];o(d)&&(d<a?a=d:d>u&&(u=d))}return[a??we,u??-we]}function Ys(t,e,n,s){let l=Pi(
t),i=Pi(e);t==e&&(l==-1?(t*=n,e/=n):(t/=n,e*=n));let o=n==10?Kt:or,a=l==1?yt:_t,u=i==1?_t:yt,m=a(o(We(t))),d=u(
o(We(e))),h=qn(n,m),b=qn(n,d);return n==10&&(m<0&&(h=ve(h,-m)),d<0&&(b=ve(b,-d))),s||n==2?(t=h*l,e=b*i):(t=cr(
t,h),e=js(e,b)),[t,e]}function no(t,e,n,s){let l=Ys(t,e,n,s);return t==0&&(l[0]=0),e==0&&(l[1]=0),l}var so=.1,
$i={mode:3,pad:so},bs={pad:0,soft:null,mode:0},tc={min:bs,max:bs};function Is(t,e,n,s){return qs(n)?Li(t,e,n):
(bs.pad=n,bs.soft=s?0:null,bs.mode=s?3:0,Li(t,e,tc))}function he(t,e){return t??e}function nc(t,e,n){for(e=he(
e,0),n=he(n,t.length-1);e<=n;){if(t[e]!=null)return!0;e++}return!1}function Li(t,e,n){let s=n.min,l=n.max,i=he(
s.pad,0),o=he(l.pad,0),a=he(s.hard,-we),u=he(l.hard,we),m=he(s.soft,we),d=he(l.soft,-we),h=he(s.mode,0),b=he(l.
mode,0),M=e-t,T=Kt(M),k=rt(We(t),We(e)),x=Kt(k),y=We(x-T);(M<1e-24||y>10)&&(M=0,(t==0||e==0)&&(M=1e-24,h==2&&m!=
we&&(i=0),b==2&&d!=-we&&(o=0)));let w=M||k||1e3,S=Kt(w),E=qn(10,yt(S)),L=w*(M==0?t==0?.1:1:i),A=ve(cr(t-L,E/10),
24),R=t>=m&&(h==1||h==3&&A<=m||h==2&&A>=m)?m:we,z=rt(a,A<R&&t>=R?R:zt(R,A)),F=w*(M==0?e==0?.1:1:o),K=ve(js(e+F,
E/10),24),D=e<=d&&(b==1||b==3&&K>=d||b==2&&K<=d)?d:-we,q=zt(u,K>D&&e<=D?D:rt(D,K));return z==q&&z==0&&(q=100),
[z,q]}var sc=new Intl.NumberFormat(Xn?Za.language:"en-US"),lo=t=>sc.format(t),wt=Math,Ws=wt.PI,We=wt.abs,yt=wt.
floor,Ve=wt.round,_t=wt.ceil,zt=wt.min,rt=wt.max,qn=wt.pow,Pi=wt.sign,Kt=wt.log10,or=wt.log2,lc=(t,e=1)=>wt.sinh(
t)*e,Hl=(t,e=1)=>wt.asinh(t/e),we=1/0;function Ci(t){return(Kt((t^t>>31)-(t>>31))|0)+1}function Yl(t,e,n){return zt(
rt(t,e),n)}function ir(t){return typeof t=="function"}function ce(t){return ir(t)?t:()=>t}var oc=()=>{},rr=t=>t,
ar=(t,e)=>e,ic=t=>null,Di=t=>!0,Ni=(t,e)=>t==e,rc=/\.\d*?(?=9{6,}|0{6,})/gm,vn=t=>{if(fr(t)||sn.has(t))return t;
let e=`${t}`,n=e.match(rc);if(n==null)return t;let s=n[0].length-1;if(e.indexOf("e-")!=-1){let[l,i]=e.split("e");
return+`${vn(l)}e${i}`}return ve(t,s)};function gn(t,e){return vn(ve(vn(t/e))*e)}function js(t,e){return vn(_t(
vn(t/e))*e)}function cr(t,e){return vn(yt(vn(t/e))*e)}function ve(t,e=0){if(fr(t))return t;let n=10**e,s=t*n*(1+
Number.EPSILON);return Ve(s)/n}var sn=new Map;function ur(t){return((""+t).split(".")[1]||"").length}function ws(t,e,n,s){
let l=[],i=s.map(ur);for(let o=e;o<n;o++){let a=We(o),u=ve(qn(t,o),a);for(let m=0;m<s.length;m++){let d=t==10?
+`${s[m]}e${o}`:s[m]*u,h=(o>=0?0:a)+(o>=i[m]?0:i[m]),b=t==10?d:ve(d,h);l.push(b),sn.set(b,h)}}return l}var ys={},
oo=[],Jn=[null,null],nn=Array.isArray,fr=Number.isInteger,ac=t=>t===void 0;function zi(t){return typeof t=="st\
ring"}function qs(t){let e=!1;if(t!=null){let n=t.constructor;e=n==null||n==Object}return e}function cc(t){return t!=
null&&typeof t=="object"}var uc=Object.getPrototypeOf(Uint8Array),hr="__proto__";function Zn(t,e=qs){let n;if(nn(
t)){let s=t.find(l=>l!=null);if(nn(s)||e(s)){n=Array(t.length);for(let l=0;l<t.length;l++)n[l]=Zn(t[l],e)}else
n=t.slice()}else if(t instanceof uc)n=t.slice();else if(e(t)){n={};for(let s in t)s!=hr&&(n[s]=Zn(t[s],e))}else
n=t;return n}function He(t){let e=arguments;for(let n=1;n<e.length;n++){let s=e[n];for(let l in s)l!=hr&&(qs(t[l])?
He(t[l],Zn(s[l])):t[l]=Zn(s[l]))}return t}var fc=0,hc=1,mc=2;function dc(t,e,n){for(let s=0,l,i=-1;s<e.length;s++){
let o=e[s];if(o>i){for(l=o-1;l>=0&&t[l]==null;)t[l--]=null;for(l=o+1;l<n&&t[l]==null;)t[i=l++]=null}}}function pc(t,e){
if(yc(t)){let o=t[0].slice();for(let a=1;a<t.length;a++)o.push(...t[a].slice(1));return wc(o[0])||(o=bc(o)),o}
let n=new Set;for(let o=0;o<t.length;o++){let u=t[o][0],m=u.length;for(let d=0;d<m;d++)n.add(u[d])}let s=[Array.
from(n).sort((o,a)=>o-a)],l=s[0].length,i=new Map;for(let o=0;o<l;o++)i.set(s[0][o],o);for(let o=0;o<t.length;o++){
let a=t[o],u=a[0];for(let m=1;m<a.length;m++){let d=a[m],h=Array(l).fill(void 0),b=e?e[o][m]:hc,M=[];for(let T=0;T<
d.length;T++){let k=d[T],x=i.get(u[T]);k===null?b!=fc&&(h[x]=k,b==mc&&M.push(x)):h[x]=k}dc(h,M,l),s.push(h)}}return s}
var gc=typeof queueMicrotask>"u"?t=>Promise.resolve().then(t):queueMicrotask;function bc(t){let e=t[0],n=e.length,
s=Array(n);for(let i=0;i<s.length;i++)s[i]=i;s.sort((i,o)=>e[i]-e[o]);let l=[];for(let i=0;i<t.length;i++){let o=t[i],
a=Array(n);for(let u=0;u<n;u++)a[u]=o[s[u]];l.push(a)}return l}function yc(t){let e=t[0][0],n=e.length;for(let s=1;s<
t.length;s++){let l=t[s][0];if(l.length!=n)return!1;if(l!=e){for(let i=0;i<n;i++)if(l[i]!=e[i])return!1}}return!0}
function wc(t,e=100){let n=t.length;if(n<=1)return!0;let s=0,l=n-1;for(;s<=l&&t[s]==null;)s++;for(;l>=s&&t[l]==
null;)l--;if(l<=s)return!0;let i=rt(1,yt((l-s+1)/e));for(let o=t[s],a=s+i;a<=l;a+=i){let u=t[a];if(u!=null){if(u<=
o)return!1;o=u}}return!0}var mr=["January","February","March","April","May","June","July","August","September",
"October","November","December"],dr=["Sunday","Monday","Tuesday","Wednesday","Thursday","Friday","Saturday"];function pr(t){
return t.slice(0,3)}var vc=dr.map(pr),kc=mr.map(pr),xc={MMMM:mr,MMM:kc,WWWW:dr,WWW:vc};function ms(t){return(t<
10?"0":"")+t}function Sc(t){return(t<10?"00":t<100?"0":"")+t}var Mc={YYYY:t=>t.getFullYear(),YY:t=>(t.getFullYear()+
"").slice(2),MMMM:(t,e)=>e.MMMM[t.getMonth()],MMM:(t,e)=>e.MMM[t.getMonth()],MM:t=>ms(t.getMonth()+1),M:t=>t.getMonth()+
1,DD:t=>ms(t.getDate()),D:t=>t.getDate(),WWWW:(t,e)=>e.WWWW[t.getDay()],WWW:(t,e)=>e.WWW[t.getDay()],HH:t=>ms(
t.getHours()),H:t=>t.getHours(),h:t=>{let e=t.getHours();return e==0?12:e>12?e-12:e},AA:t=>t.getHours()>=12?"P\
M":"AM",aa:t=>t.getHours()>=12?"pm":"am",a:t=>t.getHours()>=12?"p":"a",mm:t=>ms(t.getMinutes()),m:t=>t.getMinutes(),
ss:t=>ms(t.getSeconds()),s:t=>t.getSeconds(),fff:t=>Sc(t.getMilliseconds())};function io(t,e){e=e||xc;let n=[],
s=/\{([a-z]+)\}|[^{]+/gi,l;for(;l=s.exec(t);)n.push(l[0][0]=="{"?Mc[l[1]]:l[0]);return i=>{let o="";for(let a=0;a<
n.length;a++)o+=typeof n[a]=="string"?n[a]:n[a](i,e);return o}}var Ac=new Intl.DateTimeFormat().resolvedOptions().
timeZone;function Tc(t,e){let n;return e=="UTC"||e=="Etc/UTC"?n=new Date(+t+t.getTimezoneOffset()*6e4):e==Ac?n=
t:(n=new Date(t.toLocaleString("en-US",{timeZone:e})),n.setMilliseconds(t.getMilliseconds())),n}var gr=t=>t%1==
0,Gs=[1,2,2.5,5],Ec=ws(10,-32,0,Gs),br=ws(10,0,32,Gs),_c=br.filter(gr),bn=Ec.concat(br),ro=`
`,yr="{YYYY}",Ri=ro+yr,wr="{M}/{D}",gs=ro+wr,Os=gs+"/{YY}",vr="{aa}",$c="{h}:{mm}",Yn=$c+vr,Fi=ro+Yn,Ui=":{ss}",
be=null;function kr(t){let e=t*1e3,n=e*60,s=n*60,l=s*24,i=l*30,o=l*365,u=(t==1?ws(10,0,3,Gs).filter(gr):ws(10,
-3,0,Gs)).concat([e,e*5,e*10,e*15,e*30,n,n*5,n*10,n*15,n*30,s,s*2,s*3,s*4,s*6,s*8,s*12,l,l*2,l*3,l*4,l*5,l*6,l*
7,l*8,l*9,l*10,l*15,i,i*2,i*3,i*4,i*6,o,o*2,o*5,o*10,o*25,o*50,o*100]),m=[[o,yr,be,be,be,be,be,be,1],[l*28,"{M\
MM}",Ri,be,be,be,be,be,1],[l,wr,Ri,be,be,be,be,be,1],[s,"{h}"+vr,Os,be,gs,be,be,be,1],[n,Yn,Os,be,gs,be,be,be,
1],[e,Ui,Os+" "+Yn,be,gs+" "+Yn,be,Fi,be,1],[t,Ui+".{fff}",Os+" "+Yn,be,gs+" "+Yn,be,Fi,be,1]];function d(h){return(b,M,T,k,x,y)=>{
let w=[],S=x>=o,E=x>=i&&x<o,L=h(T),A=ve(L*t,3),R=Ol(L.getFullYear(),S?0:L.getMonth(),E||S?1:L.getDate()),z=ve(
R*t,3);if(E||S){let F=E?x/i:0,K=S?x/o:0,D=A==z?A:ve(Ol(R.getFullYear()+K,R.getMonth()+F,1)*t,3),q=new Date(Ve(
D/t)),H=q.getFullYear(),J=q.getMonth();for(let I=0;D<=k;I++){let Q=Ol(H+K*I,J+F*I,1),B=Q-h(ve(Q*t,3));D=ve((+Q+
B)*t,3),D<=k&&w.push(D)}}else{let F=x>=l?l:x,K=yt(T)-yt(A),D=z+K+js(A-z,F);w.push(D);let q=h(D),H=q.getHours()+
q.getMinutes()/n+q.getSeconds()/s,J=x/s,I=b.axes[M]._space,Q=y/I;for(;D=ve(D+x,t==1?0:3),!(D>k);)if(J>1){let B=yt(
ve(H+J,6))%24,le=h(D).getHours()-B;le>1&&(le=-1),D-=le*s,H=(H+J)%24;let oe=w[w.length-1];ve((D-oe)/x,3)*Q>=.7&&
w.push(D)}else w.push(D)}return w}}return[u,m,d]}var[Lc,Pc,Cc]=kr(1),[Dc,Nc,zc]=kr(.001);ws(2,-53,53,[1]);function Hi(t,e){
return t.map(n=>n.map((s,l)=>l==0||l==8||s==null?s:e(l==1||n[8]==0?s:n[1]+s)))}function Oi(t,e){return(n,s,l,i,o)=>{
let a=e.find(T=>o>=T[0])||e[e.length-1],u,m,d,h,b,M;return s.map(T=>{let k=t(T),x=k.getFullYear(),y=k.getMonth(),
w=k.getDate(),S=k.getHours(),E=k.getMinutes(),L=k.getSeconds(),A=x!=u&&a[2]||y!=m&&a[3]||w!=d&&a[4]||S!=h&&a[5]||
E!=b&&a[6]||L!=M&&a[7]||a[1];return u=x,m=y,d=w,h=S,b=E,M=L,A(k)})}}function Rc(t,e){let n=io(e);return(s,l,i,o,a)=>l.
map(u=>n(t(u)))}function Ol(t,e,n){return new Date(t,e,n)}function Vi(t,e){return e(t)}var Fc="{YYYY}-{MM}-{DD\
} {h}:{mm}{aa}";function Wi(t,e){return(n,s,l,i)=>i==null?eo:e(t(s))}function Uc(t,e){let n=t.series[e];return n.
width?n.stroke(t,e):n.points.width?n.points.stroke(t,e):null}function Hc(t,e){return t.series[e].fill(t,e)}var Oc={
show:!0,live:!0,isolate:!1,mount:oc,markers:{show:!0,width:2,stroke:Uc,fill:Hc,dash:"solid"},idx:null,idxs:null,
values:[]};function Vc(t,e){let n=t.cursor.points,s=Et(),l=n.size(t,e);Ae(s,ds,l),Ae(s,ps,l);let i=l/-2;Ae(s,"\
marginLeft",i),Ae(s,"marginTop",i);let o=n.width(t,e,l);return o&&Ae(s,"borderWidth",o),s}function Wc(t,e){let n=t.
series[e].points;return n._fill||n._stroke}function Bc(t,e){let n=t.series[e].points;return n._stroke||n._fill}
function Ic(t,e){return t.series[e].points.size}var Vl=[0,0];function Gc(t,e,n){return Vl[0]=e,Vl[1]=n,Vl}function Vs(t,e,n,s=!0){
return l=>{l.button==0&&(!s||l.target==e)&&n(l)}}function Wl(t,e,n,s=!0){return l=>{(!s||l.target==e)&&n(l)}}var Kc={
show:!0,x:!0,y:!0,lock:!1,move:Gc,points:{one:!1,show:Vc,size:Ic,width:0,stroke:Bc,fill:Wc},bind:{mousedown:Vs,
mouseup:Vs,click:Vs,dblclick:Vs,mousemove:Wl,mouseleave:Wl,mouseenter:Wl},drag:{setScale:!0,x:!0,y:!1,dist:0,uni:null,
click:(t,e)=>{e.stopPropagation(),e.stopImmediatePropagation()},_x:!1,_y:!1},focus:{dist:(t,e,n,s,l)=>s-l,prox:-1,
bias:0},hover:{skip:[void 0],prox:null,bias:0},left:-10,top:-10,idx:null,dataIdx:null,idxs:null,event:null},xr={
show:!0,stroke:"rgba(0,0,0,0.07)",width:2},ao=He({},xr,{filter:ar}),Sr=He({},ao,{size:10}),Mr=He({},xr,{show:!1}),
co='12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif, "Appl\
e Color Emoji", "Segoe UI Emoji", "Segoe UI Symbol", "Noto Color Emoji"',Ar="bold "+co,Tr=1.5,Bi={show:!0,scale:"\
x",stroke:Xl,space:50,gap:5,alignTo:1,size:50,labelGap:0,labelSize:30,labelFont:Ar,side:2,grid:ao,ticks:Sr,border:Mr,
font:co,lineGap:Tr,rotate:0},Yc="Value",jc="Time",Ii={show:!0,scale:"x",auto:!1,sorted:1,min:we,max:-we,idxs:[]};
function qc(t,e,n,s,l){return e.map(i=>i==null?"":lo(i))}function Jc(t,e,n,s,l,i,o){let a=[],u=sn.get(l)||0;n=
o?n:ve(js(n,l),u);for(let m=n;m<=s;m=ve(m+l,u))a.push(Object.is(m,-0)?0:m);return a}function jl(t,e,n,s,l,i,o){
let a=[],u=t.scales[t.axes[e].scale].log,m=u==10?Kt:or,d=yt(m(n));l=qn(u,d),u==10&&(l=bn[Nt(l,bn)]);let h=n,b=l*
u;u==10&&(b=bn[Nt(b,bn)]);do a.push(h),h=h+l,u==10&&!sn.has(h)&&(h=ve(h,sn.get(l))),h>=b&&(l=h,b=l*u,u==10&&(b=
bn[Nt(b,bn)]));while(h<=s);return a}function Zc(t,e,n,s,l,i,o){let u=t.scales[t.axes[e].scale].asinh,m=s>u?jl(
t,e,rt(u,n),s,l):[u],d=s>=0&&n<=0?[0]:[];return(n<-u?jl(t,e,rt(u,-s),-n,l):[u]).reverse().map(b=>-b).concat(d,
m)}var Er=/./,Qc=/[12357]/,Xc=/[125]/,Gi=/1/,ql=(t,e,n,s)=>t.map((l,i)=>e==4&&l==0||i%s==0&&n.test(l.toExponential()[l<
0?1:0])?l:null);function eu(t,e,n,s,l){let i=t.axes[n],o=i.scale,a=t.scales[o],u=t.valToPos,m=i._space,d=u(10,
o),h=u(9,o)-d>=m?Er:u(7,o)-d>=m?Qc:u(5,o)-d>=m?Xc:Gi;if(h==Gi){let b=We(u(1,o)-d);if(b<m)return ql(e.slice().reverse(),
a.distr,h,_t(m/b)).reverse()}return ql(e,a.distr,h,1)}function tu(t,e,n,s,l){let i=t.axes[n],o=i.scale,a=i._space,
u=t.valToPos,m=We(u(1,o)-u(2,o));return m<a?ql(e.slice().reverse(),3,Er,_t(a/m)).reverse():e}function nu(t,e,n,s){
return s==null?eo:e==null?"":lo(e)}var Ki={show:!0,scale:"y",stroke:Xl,space:30,gap:5,alignTo:1,size:50,labelGap:0,
labelSize:30,labelFont:Ar,side:3,grid:ao,ticks:Sr,border:Mr,font:co,lineGap:Tr,rotate:0};function su(t,e){let n=3+
(t||1)*2;return ve(n*e,3)}function lu(t,e){let{scale:n,idxs:s}=t.series[0],l=t._data[0],i=t.valToPos(l[s[0]],n,
!0),o=t.valToPos(l[s[1]],n,!0),a=We(o-i),u=t.series[e],m=a/(u.points.space*pe);return s[1]-s[0]<=m}var Yi={scale:null,
auto:!0,sorted:0,min:we,max:-we},_r=(t,e,n,s,l)=>l,ji={show:!0,auto:!0,sorted:0,gaps:_r,alpha:1,facets:[He({},
Yi,{scale:"x"}),He({},Yi,{scale:"y"})]},qi={scale:"y",auto:!0,sorted:0,show:!0,spanGaps:!1,gaps:_r,alpha:1,points:{
show:lu,filter:null},values:null,min:we,max:-we,idxs:[],path:null,clip:null};function ou(t,e,n,s,l){return n/10}
var $r={time:!0,auto:!0,distr:1,log:10,asinh:1,min:null,max:null,dir:1,ori:0},iu=He({},$r,{time:!1,ori:1}),Ji={};
function Lr(t,e){let n=Ji[t];return n||(n={key:t,plots:[],sub(s){n.plots.push(s)},unsub(s){n.plots=n.plots.filter(
l=>l!=s)},pub(s,l,i,o,a,u,m){for(let d=0;d<n.plots.length;d++)n.plots[d]!=l&&n.plots[d].pub(s,l,i,o,a,u,m)}},t!=
null&&(Ji[t]=n)),n}var Qn=1,Jl=2;function kn(t,e,n){let s=t.mode,l=t.series[e],i=s==2?t._data[e]:t._data,o=t.scales,
a=t.bbox,u=i[0],m=s==2?i[1]:i[e],d=s==2?o[l.facets[0].scale]:o[t.series[0].scale],h=s==2?o[l.facets[1].scale]:
o[l.scale],b=a.left,M=a.top,T=a.width,k=a.height,x=t.valToPosH,y=t.valToPosV;return d.ori==0?n(l,u,m,d,h,x,y,b,
M,T,k,Zs,es,Xs,Cr,Nr):n(l,u,m,d,h,y,x,M,b,k,T,Qs,ts,ho,Dr,zr)}function uo(t,e){let n=0,s=0,l=he(t.bands,oo);for(let i=0;i<
l.length;i++){let o=l[i];o.series[0]==e?n=o.dir:o.series[1]==e&&(o.dir==1?s|=1:s|=2)}return[n,s==1?-1:s==2?1:s==
3?2:0]}function ru(t,e,n,s,l){let i=t.mode,o=t.series[e],a=i==2?o.facets[1].scale:o.scale,u=t.scales[a];return l==
-1?u.min:l==1?u.max:u.distr==3?u.dir==1?u.min:u.max:0}function Yt(t,e,n,s,l,i){return kn(t,e,(o,a,u,m,d,h,b,M,T,k,x)=>{
let y=o.pxRound,w=m.dir*(m.ori==0?1:-1),S=m.ori==0?es:ts,E,L;w==1?(E=n,L=s):(E=s,L=n);let A=y(h(a[E],m,k,M)),R=y(
b(u[E],d,x,T)),z=y(h(a[L],m,k,M)),F=y(b(i==1?d.max:d.min,d,x,T)),K=new Path2D(l);return S(K,z,F),S(K,A,F),S(K,
A,R),K})}function Js(t,e,n,s,l,i){let o=null;if(t.length>0){o=new Path2D;let a=e==0?Xs:ho,u=n;for(let h=0;h<t.
length;h++){let b=t[h];if(b[1]>b[0]){let M=b[0]-u;M>0&&a(o,u,s,M,s+i),u=b[1]}}let m=n+l-u,d=10;m>0&&a(o,u,s-d/
2,m,s+i+d)}return o}function au(t,e,n){let s=t[t.length-1];s&&s[0]==e?s[1]=n:t.push([e,n])}function fo(t,e,n,s,l,i,o){
let a=[],u=t.length;for(let m=l==1?n:s;m>=n&&m<=s;m+=l)if(e[m]===null){let h=m,b=m;if(l==1)for(;++m<=s&&e[m]===
null;)b=m;else for(;--m>=n&&e[m]===null;)b=m;let M=i(t[h]),T=b==h?M:i(t[b]),k=h-l;M=o<=0&&k>=0&&k<u?i(t[k]):M;
let y=b+l;T=o>=0&&y>=0&&y<u?i(t[y]):T,T>=M&&a.push([M,T])}return a}function Zi(t){return t==0?rr:t==1?Ve:e=>gn(
e,t)}function Pr(t){let e=t==0?Zs:Qs,n=t==0?(l,i,o,a,u,m)=>{l.arcTo(i,o,a,u,m)}:(l,i,o,a,u,m)=>{l.arcTo(o,i,u,
a,m)},s=t==0?(l,i,o,a,u)=>{l.rect(i,o,a,u)}:(l,i,o,a,u)=>{l.rect(o,i,u,a)};return(l,i,o,a,u,m=0,d=0)=>{m==0&&d==
0?s(l,i,o,a,u):(m=zt(m,a/2,u/2),d=zt(d,a/2,u/2),e(l,i+m,o),n(l,i+a,o,i+a,o+u,m),n(l,i+a,o+u,i,o+u,d),n(l,i,o+u,
i,o,d),n(l,i,o,i+a,o,m),l.closePath())}}var Zs=(t,e,n)=>{t.moveTo(e,n)},Qs=(t,e,n)=>{t.moveTo(n,e)},es=(t,e,n)=>{
t.lineTo(e,n)},ts=(t,e,n)=>{t.lineTo(n,e)},Xs=Pr(0),ho=Pr(1),Cr=(t,e,n,s,l,i)=>{t.arc(e,n,s,l,i)},Dr=(t,e,n,s,l,i)=>{
t.arc(n,e,s,l,i)},Nr=(t,e,n,s,l,i,o)=>{t.bezierCurveTo(e,n,s,l,i,o)},zr=(t,e,n,s,l,i,o)=>{t.bezierCurveTo(n,e,
l,s,o,i)};function Rr(t){return(e,n,s,l,i)=>kn(e,n,(o,a,u,m,d,h,b,M,T,k,x)=>{let{pxRound:y,points:w}=o,S,E;m.ori==
0?(S=Zs,E=Cr):(S=Qs,E=Dr);let L=ve(w.width*pe,3),A=(w.size-w.width)/2*pe,R=ve(A*2,3),z=new Path2D,F=new Path2D,
{left:K,top:D,width:q,height:H}=e.bbox;Xs(F,K-R,D-R,q+R*2,H+R*2);let J=I=>{if(u[I]!=null){let Q=y(h(a[I],m,k,M)),
B=y(b(u[I],d,x,T));S(z,Q+A,B),E(z,Q,B,A,0,Ws*2)}};if(i)i.forEach(J);else for(let I=s;I<=l;I++)J(I);return{stroke:L>
0?z:null,fill:z,clip:F,flags:Qn|Jl}})}function Fr(t){return(e,n,s,l,i,o)=>{s!=l&&(i!=s&&o!=s&&t(e,n,s),i!=l&&o!=
l&&t(e,n,l),t(e,n,o))}}var cu=Fr(es),uu=Fr(ts);function Ur(t){let e=he(t?.alignGaps,0);return(n,s,l,i)=>kn(n,s,
(o,a,u,m,d,h,b,M,T,k,x)=>{[l,i]=Ks(u,l,i);let y=o.pxRound,w=H=>y(h(H,m,k,M)),S=H=>y(b(H,d,x,T)),E,L;m.ori==0?(E=
es,L=cu):(E=ts,L=uu);let A=m.dir*(m.ori==0?1:-1),R={stroke:new Path2D,fill:null,clip:null,band:null,gaps:null,
flags:Qn},z=R.stroke,F=!1;if(i-l>=k*4){let H=C=>n.posToVal(C,m.key,!0),J=null,I=null,Q,B,Ze,ge=w(a[A==1?l:i]),
le=w(a[l]),oe=w(a[i]),ee=H(A==1?le+1:oe-1);for(let C=A==1?l:i;C>=l&&C<=i;C+=A){let Y=a[C],se=(A==1?Y<ee:Y>ee)?
ge:w(Y),te=u[C];se==ge?te!=null?(B=te,J==null?(E(z,se,S(B)),Q=J=I=B):B<J?J=B:B>I&&(I=B)):te===null&&(F=!0):(J!=
null&&L(z,ge,S(J),S(I),S(Q),S(B)),te!=null?(B=te,E(z,se,S(B)),J=I=Q=B):(J=I=null,te===null&&(F=!0)),ge=se,ee=H(
ge+A))}J!=null&&J!=I&&Ze!=ge&&L(z,ge,S(J),S(I),S(Q),S(B))}else for(let H=A==1?l:i;H>=l&&H<=i;H+=A){let J=u[H];
J===null?F=!0:J!=null&&E(z,w(a[H]),S(J))}let[D,q]=uo(n,s);if(o.fill!=null||D!=0){let H=R.fill=new Path2D(z),J=o.
fillTo(n,s,o.min,o.max,D),I=S(J),Q=w(a[l]),B=w(a[i]);A==-1&&([B,Q]=[Q,B]),E(H,B,I),E(H,Q,I)}if(!o.spanGaps){let H=[];
F&&H.push(...fo(a,u,l,i,A,w,e)),R.gaps=H=o.gaps(n,s,l,i,H),R.clip=Js(H,m.ori,M,T,k,x)}return q!=0&&(R.band=q==
2?[Yt(n,s,l,i,z,-1),Yt(n,s,l,i,z,1)]:Yt(n,s,l,i,z,q)),R})}function fu(t){let e=he(t.align,1),n=he(t.ascDesc,!1),
s=he(t.alignGaps,0),l=he(t.extend,!1);return(i,o,a,u)=>kn(i,o,(m,d,h,b,M,T,k,x,y,w,S)=>{[a,u]=Ks(h,a,u);let E=m.
pxRound,{left:L,width:A}=i.bbox,R=le=>E(T(le,b,w,x)),z=le=>E(k(le,M,S,y)),F=b.ori==0?es:ts,K={stroke:new Path2D,
fill:null,clip:null,band:null,gaps:null,flags:Qn},D=K.stroke,q=b.dir*(b.ori==0?1:-1),H=z(h[q==1?a:u]),J=R(d[q==
1?a:u]),I=J,Q=J;l&&e==-1&&(Q=L,F(D,Q,H)),F(D,J,H);for(let le=q==1?a:u;le>=a&&le<=u;le+=q){let oe=h[le];if(oe==
null)continue;let ee=R(d[le]),C=z(oe);e==1?F(D,ee,H):F(D,I,C),F(D,ee,C),H=C,I=ee}let B=I;l&&e==1&&(B=L+A,F(D,B,
H));let[Ze,ge]=uo(i,o);if(m.fill!=null||Ze!=0){let le=K.fill=new Path2D(D),oe=m.fillTo(i,o,m.min,m.max,Ze),ee=z(
oe);F(le,B,ee),F(le,Q,ee)}if(!m.spanGaps){let le=[];le.push(...fo(d,h,a,u,q,R,s));let oe=m.width*pe/2,ee=n||e==
1?oe:-oe,C=n||e==-1?-oe:oe;le.forEach(Y=>{Y[0]+=ee,Y[1]+=C}),K.gaps=le=m.gaps(i,o,a,u,le),K.clip=Js(le,b.ori,x,
y,w,S)}return ge!=0&&(K.band=ge==2?[Yt(i,o,a,u,D,-1),Yt(i,o,a,u,D,1)]:Yt(i,o,a,u,D,ge)),K})}function Qi(t,e,n,s,l,i,o=we){
if(t.length>1){let a=null;for(let u=0,m=1/0;u<t.length;u++)if(e[u]!==void 0){if(a!=null){let d=We(t[u]-t[a]);d<
m&&(m=d,o=We(n(t[u],s,l,i)-n(t[a],s,l,i)))}a=u}}return o}function hu(t){t=t||ys;let e=he(t.size,[.6,we,1]),n=t.
align||0,s=t.gap||0,l=t.radius;l=l==null?[0,0]:typeof l=="number"?[l,0]:l;let i=ce(l),o=1-e[0],a=he(e[1],we),u=he(
e[2],1),m=he(t.disp,ys),d=he(t.each,M=>{}),{fill:h,stroke:b}=m;return(M,T,k,x)=>kn(M,T,(y,w,S,E,L,A,R,z,F,K,D)=>{
let q=y.pxRound,H=n,J=s*pe,I=a*pe,Q=u*pe,B,Ze;E.ori==0?[B,Ze]=i(M,T):[Ze,B]=i(M,T);let ge=E.dir*(E.ori==0?1:-1),
le=E.ori==0?Xs:ho,oe=E.ori==0?d:(V,ke,Oe,An,rn,Rt,an)=>{d(V,ke,Oe,rn,An,an,Rt)},ee=he(M.bands,oo).find(V=>V.series[0]==
T),C=ee!=null?ee.dir:0,Y=y.fillTo(M,T,y.min,y.max,C),Te=q(R(Y,L,D,F)),se,te,Ie,_e=K,ue=q(y.width*pe),ft=!1,ht=null,
vt=null,jt=null,xn=null;h!=null&&(ue==0||b!=null)&&(ft=!0,ht=h.values(M,T,k,x),vt=new Map,new Set(ht).forEach(
V=>{V!=null&&vt.set(V,new Path2D)}),ue>0&&(jt=b.values(M,T,k,x),xn=new Map,new Set(jt).forEach(V=>{V!=null&&xn.
set(V,new Path2D)})));let{x0:Sn,size:ns}=m;if(Sn!=null&&ns!=null){H=1,w=Sn.values(M,T,k,x),Sn.unit==2&&(w=w.map(
Oe=>M.posToVal(z+Oe*K,E.key,!0)));let V=ns.values(M,T,k,x);ns.unit==2?te=V[0]*K:te=A(V[0],E,K,z)-A(0,E,K,z),_e=
Qi(w,S,A,E,K,z,_e),Ie=_e-te+J}else _e=Qi(w,S,A,E,K,z,_e),Ie=_e*o+J,te=_e-Ie;Ie<1&&(Ie=0),ue>=te/2&&(ue=0),Ie<5&&
(q=rr);let vs=Ie>0,ln=_e-Ie-(vs?ue:0);te=q(Yl(ln,Q,I)),se=(H==0?te/2:H==ge?0:te)-H*ge*((H==0?J/2:0)+(vs?ue/2:0));
let st={stroke:null,fill:null,clip:null,band:null,gaps:null,flags:0},Mn=ft?null:new Path2D,It=null;if(ee!=null)
It=M.data[ee.series[1]];else{let{y0:V,y1:ke}=m;V!=null&&ke!=null&&(S=ke.values(M,T,k,x),It=V.values(M,T,k,x))}
let on=B*te,ne=Ze*te;for(let V=ge==1?k:x;V>=k&&V<=x;V+=ge){let ke=S[V];if(ke==null)continue;if(It!=null){let at=It[V]??
0;if(ke-at==0)continue;Te=R(at,L,D,F)}let Oe=E.distr!=2||m!=null?w[V]:V,An=A(Oe,E,K,z),rn=R(he(ke,Y),L,D,F),Rt=q(
An-se),an=q(rt(rn,Te)),mt=q(zt(rn,Te)),kt=an-mt;if(ke!=null){let at=ke<0?ne:on,$t=ke<0?on:ne;ft?(ue>0&&jt[V]!=
null&&le(xn.get(jt[V]),Rt,mt+yt(ue/2),te,rt(0,kt-ue),at,$t),ht[V]!=null&&le(vt.get(ht[V]),Rt,mt+yt(ue/2),te,rt(
0,kt-ue),at,$t)):le(Mn,Rt,mt+yt(ue/2),te,rt(0,kt-ue),at,$t),oe(M,T,V,Rt-ue/2,mt,te+ue,kt)}}return ue>0?st.stroke=
ft?xn:Mn:ft||(st._fill=y.width==0?y._fill:y._stroke??y._fill,st.width=0),st.fill=ft?vt:Mn,st})}function mu(t,e){
let n=he(e?.alignGaps,0);return(s,l,i,o)=>kn(s,l,(a,u,m,d,h,b,M,T,k,x,y)=>{[i,o]=Ks(m,i,o);let w=a.pxRound,S=B=>w(
b(B,d,x,T)),E=B=>w(M(B,h,y,k)),L,A,R;d.ori==0?(L=Zs,R=es,A=Nr):(L=Qs,R=ts,A=zr);let z=d.dir*(d.ori==0?1:-1),F=S(
u[z==1?i:o]),K=F,D=[],q=[];for(let B=z==1?i:o;B>=i&&B<=o;B+=z)if(m[B]!=null){let ge=u[B],le=S(ge);D.push(K=le),
q.push(E(m[B]))}let H={stroke:t(D,q,L,R,A,w),fill:null,clip:null,band:null,gaps:null,flags:Qn},J=H.stroke,[I,Q]=uo(
s,l);if(a.fill!=null||I!=0){let B=H.fill=new Path2D(J),Ze=a.fillTo(s,l,a.min,a.max,I),ge=E(Ze);R(B,K,ge),R(B,F,
ge)}if(!a.spanGaps){let B=[];B.push(...fo(u,m,i,o,z,S,n)),H.gaps=B=a.gaps(s,l,i,o,B),H.clip=Js(B,d.ori,T,k,x,y)}
return Q!=0&&(H.band=Q==2?[Yt(s,l,i,o,J,-1),Yt(s,l,i,o,J,1)]:Yt(s,l,i,o,J,Q)),H})}function du(t){return mu(pu,
t)}function pu(t,e,n,s,l,i){let o=t.length;if(o<2)return null;let a=new Path2D;if(n(a,t[0],e[0]),o==2)s(a,t[1],
e[1]);else{let u=Array(o),m=Array(o-1),d=Array(o-1),h=Array(o-1);for(let b=0;b<o-1;b++)d[b]=e[b+1]-e[b],h[b]=t[b+
1]-t[b],m[b]=d[b]/h[b];u[0]=m[0];for(let b=1;b<o-1;b++)m[b]===0||m[b-1]===0||m[b-1]>0!=m[b]>0?u[b]=0:(u[b]=3*(h[b-
1]+h[b])/((2*h[b]+h[b-1])/m[b-1]+(h[b]+2*h[b-1])/m[b]),isFinite(u[b])||(u[b]=0));u[o-1]=m[o-2];for(let b=0;b<o-
1;b++)l(a,t[b]+h[b]/3,e[b]+u[b]*h[b]/3,t[b+1]-h[b]/3,e[b+1]-u[b+1]*h[b]/3,t[b+1],e[b+1])}return a}var Zl=new Set;
function Xi(){for(let t of Zl)t.syncRect(!0)}Xn&&(wn(qa,jn,Xi),wn(Ja,jn,Xi,!0),wn(Bs,jn,()=>{Be.pxRatio=pe}));
var gu=Ur(),bu=Rr();function er(t,e,n,s){return(s?[t[0],t[1]].concat(t.slice(2)):[t[0]].concat(t.slice(1))).map(
(i,o)=>Ql(i,o,e,n))}function yu(t,e){return t.map((n,s)=>s==0?{}:He({},e,n))}function Ql(t,e,n,s){return He({},
e==0?n:s,t)}function Hr(t,e,n){return e==null?Jn:[e,n]}var wu=Hr;function vu(t,e,n){return e==null?Jn:Is(e,n,so,
!0)}function Or(t,e,n,s){return e==null?Jn:Ys(e,n,t.scales[s].log,!1)}var ku=Or;function Vr(t,e,n,s){return e==
null?Jn:no(e,n,t.scales[s].log,!1)}var xu=Vr;function Su(t,e,n,s,l){let i=rt(Ci(t),Ci(e)),o=e-t,a=Nt(l/s*o,n);
do{let u=n[a],m=s*u/o;if(m>=l&&i+(u<5?sn.get(u):0)<=17)return[u,m]}while(++a<n.length);return[0,0]}function tr(t){
let e,n;return t=t.replace(/(\d+)px/,(s,l)=>(e=Ve((n=+l)*pe))+"px"),[t,e,n]}function Mu(t){t.show&&[t.font,t.labelFont].
forEach(e=>{let n=ve(e[2]*pe,1);e[0]=e[0].replace(/[0-9.]+px/,n+"px"),e[1]=n})}function Be(t,e,n){let s={mode:he(
t.mode,1)},l=s.mode;function i(r,c,p,g){let v=c.valToPct(r);return g+p*(c.dir==-1?1-v:v)}function o(r,c,p,g){let v=c.
valToPct(r);return g+p*(c.dir==-1?v:1-v)}function a(r,c,p,g){return c.ori==0?i(r,c,p,g):o(r,c,p,g)}s.valToPosH=
i,s.valToPosV=o;let u=!1;s.status=0;let m=s.root=Et(Pa);if(t.id!=null&&(m.id=t.id),bt(m,t.class),t.title){let r=Et(
Na,m);r.textContent=t.title}let d=Dt("canvas"),h=s.ctx=d.getContext("2d"),b=Et(za,m);wn("click",b,r=>{r.target===
T&&(xe!=Rn||Ee!=Fn)&&Xe.click(s,r)},!0);let M=s.under=Et(Ra,b);b.appendChild(d);let T=s.over=Et(Fa,b);t=Zn(t);
let k=+he(t.pxAlign,1),x=Zi(k);(t.plugins||[]).forEach(r=>{r.opts&&(t=r.opts(s,t)||t)});let y=t.ms||.001,w=s.series=
l==1?er(t.series||[],Ii,qi,!1):yu(t.series||[null],ji),S=s.axes=er(t.axes||[],Bi,Ki,!0),E=s.scales={},L=s.bands=
t.bands||[];L.forEach(r=>{r.fill=ce(r.fill||null),r.dir=he(r.dir,-1)});let A=l==2?w[1].facets[0].scale:w[0].scale,
R={axes:la,series:Xr},z=(t.drawOrder||["axes","series"]).map(r=>R[r]);function F(r){let c=r.distr==3?p=>Kt(p>0?
p:r.clamp(s,p,r.min,r.max,r.key)):r.distr==4?p=>Hl(p,r.asinh):r.distr==100?p=>r.fwd(p):p=>p;return p=>{let g=c(
p),{_min:v,_max:_}=r,$=_-v;return(g-v)/$}}function K(r){let c=E[r];if(c==null){let p=(t.scales||ys)[r]||ys;if(p.
from!=null){K(p.from);let g=He({},E[p.from],p,{key:r});g.valToPct=F(g),E[r]=g}else{c=E[r]=He({},r==A?$r:iu,p),
c.key=r;let g=c.time,v=c.range,_=nn(v);if((r!=A||l==2&&!g)&&(_&&(v[0]==null||v[1]==null)&&(v={min:v[0]==null?$i:
{mode:1,hard:v[0],soft:v[0]},max:v[1]==null?$i:{mode:1,hard:v[1],soft:v[1]}},_=!1),!_&&qs(v))){let $=v;v=(P,N,U)=>N==
null?Jn:Is(N,U,$)}c.range=ce(v||(g?wu:r==A?c.distr==3?ku:c.distr==4?xu:Hr:c.distr==3?Or:c.distr==4?Vr:vu)),c.auto=
ce(_?!1:c.auto),c.clamp=ce(c.clamp||ou),c._min=c._max=null,c.valToPct=F(c)}}}K("x"),K("y"),l==1&&w.forEach(r=>{
K(r.scale)}),S.forEach(r=>{K(r.scale)});for(let r in t.scales)K(r);let D=E[A],q=D.distr,H,J;D.ori==0?(bt(m,Ca),
H=i,J=o):(bt(m,Da),H=o,J=i);let I={};for(let r in E){let c=E[r];(c.min!=null||c.max!=null)&&(I[r]={min:c.min,max:c.
max},c.min=c.max=null)}let Q=t.tzDate||(r=>new Date(Ve(r/y))),B=t.fmtDate||io,Ze=y==1?Cc(Q):zc(Q),ge=Oi(Q,Hi(y==
1?Pc:Nc,B)),le=Wi(Q,Vi(Fc,B)),oe=[],ee=s.legend=He({},Oc,t.legend),C=s.cursor=He({},Kc,{drag:{y:l==2}},t.cursor),
Y=ee.show,Te=C.show,se=ee.markers;ee.idxs=oe,se.width=ce(se.width),se.dash=ce(se.dash),se.stroke=ce(se.stroke),
se.fill=ce(se.fill);let te,Ie,_e,ue=[],ft=[],ht,vt=!1,jt={};if(ee.live){let r=w[1]?w[1].values:null;vt=r!=null,
ht=vt?r(s,1,0):{_:0};for(let c in ht)jt[c]=eo}if(Y)if(te=Dt("table",Ba,m),_e=Dt("tbody",null,te),ee.mount(s,te),
vt){Ie=Dt("thead",null,te,_e);let r=Dt("tr",null,Ie);Dt("th",null,r);for(var xn in ht)Dt("th",gi,r).textContent=
xn}else bt(te,Ga),ee.live&&bt(te,Ia);let Sn={show:!0},ns={show:!1};function vs(r,c){if(c==0&&(vt||!ee.live||l==
2))return Jn;let p=[],g=Dt("tr",Ka,_e,_e.childNodes[c]);bt(g,r.class),r.show||bt(g,yn);let v=Dt("th",null,g);if(se.
show){let P=Et(Ya,v);if(c>0){let N=se.width(s,c);N&&(P.style.border=N+"px "+se.dash(s,c)+" "+se.stroke(s,c)),P.
style.background=se.fill(s,c)}}let _=Et(gi,v);r.label instanceof HTMLElement?_.appendChild(r.label):_.textContent=
r.label,c>0&&(se.show||(_.style.color=r.width>0?se.stroke(s,c):se.fill(s,c)),st("click",v,P=>{if(C._lock)return;
un(P);let N=w.indexOf(r);if((P.ctrlKey||P.metaKey)!=ee.isolate){let U=w.some((O,W)=>W>0&&W!=N&&O.show);w.forEach(
(O,W)=>{W>0&&Ut(W,U?W==N?Sn:ns:Sn,!0,De.setSeries)})}else Ut(N,{show:!r.show},!0,De.setSeries)},!1),En&&st(vi,
v,P=>{C._lock||(un(P),Ut(w.indexOf(r),Hn,!0,De.setSeries))},!1));for(var $ in ht){let P=Dt("td",ja,g);P.textContent=
"--",p.push(P)}return[g,p]}let ln=new Map;function st(r,c,p,g=!0){let v=ln.get(c)||{},_=C.bind[r](s,c,p,g);_&&
(wn(r,c,v[r]=_),ln.set(c,v))}function Mn(r,c,p){let g=ln.get(c)||{};for(let v in g)(r==null||v==r)&&(Kl(v,c,g[v]),
delete g[v]);r==null&&ln.delete(c)}let It=0,on=0,ne=0,V=0,ke=0,Oe=0,An=ke,rn=Oe,Rt=ne,an=V,mt=0,kt=0,at=0,$t=0;
s.bbox={};let nl=!1,ks=!1,Tn=!1,cn=!1,xs=!1,xt=!1;function sl(r,c,p){(p||r!=s.width||c!=s.height)&&go(r,c),Cn(
!1),Tn=!0,ks=!0,Dn()}function go(r,c){s.width=It=ne=r,s.height=on=V=c,ke=Oe=0,Kr(),Yr();let p=s.bbox;mt=p.left=
gn(ke*pe,.5),kt=p.top=gn(Oe*pe,.5),at=p.width=gn(ne*pe,.5),$t=p.height=gn(V*pe,.5)}let Br=3;function Ir(){let r=!1,
c=0;for(;!r;){c++;let p=na(c),g=sa(c);r=c==Br||p&&g,r||(go(s.width,s.height),ks=!0)}}function Gr({width:r,height:c}){
sl(r,c)}s.setSize=Gr;function Kr(){let r=!1,c=!1,p=!1,g=!1;S.forEach((v,_)=>{if(v.show&&v._show){let{side:$,_size:P}=v,
N=$%2,U=v.label!=null?v.labelSize:0,O=P+U;O>0&&(N?(ne-=O,$==3?(ke+=O,g=!0):p=!0):(V-=O,$==0?(Oe+=O,r=!0):c=!0))}}),
fn[0]=r,fn[1]=p,fn[2]=c,fn[3]=g,ne-=qt[1]+qt[3],ke+=qt[3],V-=qt[2]+qt[0],Oe+=qt[0]}function Yr(){let r=ke+ne,c=Oe+
V,p=ke,g=Oe;function v(_,$){switch(_){case 1:return r+=$,r-$;case 2:return c+=$,c-$;case 3:return p-=$,p+$;case 0:
return g-=$,g+$}}S.forEach((_,$)=>{if(_.show&&_._show){let P=_.side;_._pos=v(P,_._size),_.label!=null&&(_._lpos=
v(P,_.labelSize))}})}if(C.dataIdx==null){let r=C.hover,c=r.skip=new Set(r.skip??[]);c.add(void 0);let p=r.prox=
ce(r.prox),g=r.bias??=0;C.dataIdx=(v,_,$,P)=>{if(_==0)return $;let N=$,U=p(v,_,$,P)??we,O=U>=0&&U<we,W=D.ori==
0?ne:V,X=C.left,me=e[0],fe=e[_];if(c.has(fe[$])){N=null;let ie=null,Z=null,j;if(g==0||g==-1)for(j=$;ie==null&&
j-- >0;)c.has(fe[j])||(ie=j);if(g==0||g==1)for(j=$;Z==null&&j++<fe.length;)c.has(fe[j])||(Z=j);if(ie!=null||Z!=
null)if(O){let Me=ie==null?-1/0:H(me[ie],D,W,0),Le=Z==null?1/0:H(me[Z],D,W,0),Je=X-Me,ye=Le-X;Je<=ye?Je<=U&&(N=
ie):ye<=U&&(N=Z)}else N=Z==null?ie:ie==null?Z:$-ie<=Z-$?ie:Z}else O&&We(X-H(me[$],D,W,0))>U&&(N=null);return N}}
let un=r=>{C.event=r};C.idxs=oe,C._lock=!1;let et=C.points;et.show=ce(et.show),et.size=ce(et.size),et.stroke=ce(
et.stroke),et.width=ce(et.width),et.fill=ce(et.fill);let Ft=s.focus=He({},t.focus||{alpha:.3},C.focus),En=Ft.prox>=
0,_n=En&&et.one,St=[],$n=[],Ln=[];function bo(r,c){let p=et.show(s,c);if(p instanceof HTMLElement)return bt(p,
Wa),bt(p,r.class),Bt(p,-10,-10,ne,V),T.insertBefore(p,St[c]),p}function yo(r,c){if(l==1||c>0){let p=l==1&&E[r.
scale].time,g=r.value;r.value=p?zi(g)?Wi(Q,Vi(g,B)):g||le:g||nu,r.label=r.label||(p?jc:Yc)}if(_n||c>0){r.width=
r.width==null?1:r.width,r.paths=r.paths||gu||ic,r.fillTo=ce(r.fillTo||ru),r.pxAlign=+he(r.pxAlign,k),r.pxRound=
Zi(r.pxAlign),r.stroke=ce(r.stroke||null),r.fill=ce(r.fill||null),r._stroke=r._fill=r._paths=r._focus=null;let p=su(
rt(1,r.width),1),g=r.points=He({},{size:p,width:rt(1,p*.2),stroke:r.stroke,space:p*2,paths:bu,_stroke:null,_fill:null},
r.points);g.show=ce(g.show),g.filter=ce(g.filter),g.fill=ce(g.fill),g.stroke=ce(g.stroke),g.paths=ce(g.paths),
g.pxAlign=r.pxAlign}if(Y){let p=vs(r,c);ue.splice(c,0,p[0]),ft.splice(c,0,p[1]),ee.values.push(null)}if(Te){oe.
splice(c,0,null);let p=null;_n?c==0&&(p=bo(r,c)):c>0&&(p=bo(r,c)),St.splice(c,0,p),$n.splice(c,0,0),Ln.splice(
c,0,0)}qe("addSeries",c)}function jr(r,c){c=c??w.length,r=l==1?Ql(r,c,Ii,qi):Ql(r,c,{},ji),w.splice(c,0,r),yo(
w[c],c)}s.addSeries=jr;function qr(r){if(w.splice(r,1),Y){ee.values.splice(r,1),ft.splice(r,1);let c=ue.splice(
r,1)[0];Mn(null,c.firstChild),c.remove()}Te&&(oe.splice(r,1),St.splice(r,1)[0].remove(),$n.splice(r,1),Ln.splice(
r,1)),qe("delSeries",r)}s.delSeries=qr;let fn=[!1,!1,!1,!1];function Jr(r,c){if(r._show=r.show,r.show){let p=r.
side%2,g=E[r.scale];g==null&&(r.scale=p?w[1].scale:A,g=E[r.scale]);let v=g.time;r.size=ce(r.size),r.space=ce(r.
space),r.rotate=ce(r.rotate),nn(r.incrs)&&r.incrs.forEach($=>{!sn.has($)&&sn.set($,ur($))}),r.incrs=ce(r.incrs||
(g.distr==2?_c:v?y==1?Lc:Dc:bn)),r.splits=ce(r.splits||(v&&g.distr==1?Ze:g.distr==3?jl:g.distr==4?Zc:Jc)),r.stroke=
ce(r.stroke),r.grid.stroke=ce(r.grid.stroke),r.ticks.stroke=ce(r.ticks.stroke),r.border.stroke=ce(r.border.stroke);
let _=r.values;r.values=nn(_)&&!nn(_[0])?ce(_):v?nn(_)?Oi(Q,Hi(_,B)):zi(_)?Rc(Q,_):_||ge:_||qc,r.filter=ce(r.filter||
(g.distr>=3&&g.log==10?eu:g.distr==3&&g.log==2?tu:ar)),r.font=tr(r.font),r.labelFont=tr(r.labelFont),r._size=r.
size(s,null,c,0),r._space=r._rotate=r._incrs=r._found=r._splits=r._values=null,r._size>0&&(fn[c]=!0,r._el=Et(Ua,
b))}}function ss(r,c,p,g){let[v,_,$,P]=p,N=c%2,U=0;return N==0&&(P||_)&&(U=c==0&&!v||c==2&&!$?Ve(Bi.size/3):0),
N==1&&(v||$)&&(U=c==1&&!_||c==3&&!P?Ve(Ki.size/2):0),U}let wo=s.padding=(t.padding||[ss,ss,ss,ss]).map(r=>ce(he(
r,ss))),qt=s._padding=wo.map((r,c)=>r(s,c,fn,0)),Qe,Ge=null,Ke=null,Ss=l==1?w[0].idxs:null,Lt=null,ls=!1;function vo(r,c){
if(e=r??[],s.data=s._data=e,l==2){Qe=0;for(let p=1;p<w.length;p++)Qe+=e[p][0].length}else{e.length==0&&(s.data=
s._data=e=[[]]),Lt=e[0],Qe=Lt.length;let p=e;if(q==2){p=e.slice();let g=p[0]=Array(Qe);for(let v=0;v<Qe;v++)g[v]=
v}s._data=e=p}if(Cn(!0),qe("setData"),q==2&&(Tn=!0),c!==!1){let p=D;p.auto(s,ls)?ll():Zt(A,p.min,p.max),cn=cn||
C.left>=0,xt=!0,Dn()}}s.setData=vo;function ll(){ls=!0;let r,c;l==1&&(Qe>0?(Ge=Ss[0]=0,Ke=Ss[1]=Qe-1,r=e[0][Ge],
c=e[0][Ke],q==2?(r=Ge,c=Ke):r==c&&(q==3?[r,c]=Ys(r,r,D.log,!1):q==4?[r,c]=no(r,r,D.log,!1):D.time?c=r+Ve(86400/
y):[r,c]=Is(r,c,so,!0))):(Ge=Ss[0]=r=null,Ke=Ss[1]=c=null)),Zt(A,r,c)}let Ms,Pn,ol,il,rl,al,cl,ul,fl,ct;function ko(r,c,p,g,v,_){
r??=yi,p??=oo,g??="butt",v??=yi,_??="round",r!=Ms&&(h.strokeStyle=Ms=r),v!=Pn&&(h.fillStyle=Pn=v),c!=ol&&(h.lineWidth=
ol=c),_!=rl&&(h.lineJoin=rl=_),g!=al&&(h.lineCap=al=g),p!=il&&h.setLineDash(il=p)}function xo(r,c,p,g){c!=Pn&&
(h.fillStyle=Pn=c),r!=cl&&(h.font=cl=r),p!=ul&&(h.textAlign=ul=p),g!=fl&&(h.textBaseline=fl=g)}function hl(r,c,p,g,v=0){
if(g.length>0&&r.auto(s,ls)&&(c==null||c.min==null)){let _=he(Ge,0),$=he(Ke,g.length-1),P=p.min==null?ec(g,_,$,
v,r.distr==3):[p.min,p.max];r.min=zt(r.min,p.min=P[0]),r.max=rt(r.max,p.max=P[1])}}let So={min:null,max:null};
function Zr(){for(let g in E){let v=E[g];I[g]==null&&(v.min==null||I[A]!=null&&v.auto(s,ls))&&(I[g]=So)}for(let g in E){
let v=E[g];I[g]==null&&v.from!=null&&I[v.from]!=null&&(I[g]=So)}I[A]!=null&&Cn(!0);let r={};for(let g in I){let v=I[g];
if(v!=null){let _=r[g]=Zn(E[g],cc);if(v.min!=null)He(_,v);else if(g!=A||l==2)if(Qe==0&&_.from==null){let $=_.range(
s,null,null,g);_.min=$[0],_.max=$[1]}else _.min=we,_.max=-we}}if(Qe>0){w.forEach((g,v)=>{if(l==1){let _=g.scale,
$=I[_];if($==null)return;let P=r[_];if(v==0){let N=P.range(s,P.min,P.max,_);P.min=N[0],P.max=N[1],Ge=Nt(P.min,
e[0]),Ke=Nt(P.max,e[0]),Ke-Ge>1&&(e[0][Ge]<P.min&&Ge++,e[0][Ke]>P.max&&Ke--),g.min=Lt[Ge],g.max=Lt[Ke]}else g.
show&&g.auto&&hl(P,$,g,e[v],g.sorted);g.idxs[0]=Ge,g.idxs[1]=Ke}else if(v>0&&g.show&&g.auto){let[_,$]=g.facets,
P=_.scale,N=$.scale,[U,O]=e[v],W=r[P],X=r[N];W!=null&&hl(W,I[P],_,U,_.sorted),X!=null&&hl(X,I[N],$,O,$.sorted),
g.min=$.min,g.max=$.max}});for(let g in r){let v=r[g],_=I[g];if(v.from==null&&(_==null||_.min==null)){let $=v.
range(s,v.min==we?null:v.min,v.max==-we?null:v.max,g);v.min=$[0],v.max=$[1]}}}for(let g in r){let v=r[g];if(v.
from!=null){let _=r[v.from];if(_.min==null)v.min=v.max=null;else{let $=v.range(s,_.min,_.max,g);v.min=$[0],v.max=
$[1]}}}let c={},p=!1;for(let g in r){let v=r[g],_=E[g];if(_.min!=v.min||_.max!=v.max){_.min=v.min,_.max=v.max;
let $=_.distr;_._min=$==3?Kt(_.min):$==4?Hl(_.min,_.asinh):$==100?_.fwd(_.min):_.min,_._max=$==3?Kt(_.max):$==
4?Hl(_.max,_.asinh):$==100?_.fwd(_.max):_.max,c[g]=p=!0}}if(p){w.forEach((g,v)=>{l==2?v>0&&c.y&&(g._paths=null):
c[g.scale]&&(g._paths=null)});for(let g in c)Tn=!0,qe("setScale",g);Te&&C.left>=0&&(cn=xt=!0)}for(let g in I)I[g]=
null}function Qr(r){let c=Yl(Ge-1,0,Qe-1),p=Yl(Ke+1,0,Qe-1);for(;r[c]==null&&c>0;)c--;for(;r[p]==null&&p<Qe-1;)
p++;return[c,p]}function Xr(){if(Qe>0){let r=w.some(c=>c._focus)&&ct!=Ft.alpha;r&&(h.globalAlpha=ct=Ft.alpha),
w.forEach((c,p)=>{if(p>0&&c.show&&(Mo(p,!1),Mo(p,!0),c._paths==null)){let g=ct;ct!=c.alpha&&(h.globalAlpha=ct=
c.alpha);let v=l==2?[0,e[p][0].length-1]:Qr(e[p]);c._paths=c.paths(s,p,v[0],v[1]),ct!=g&&(h.globalAlpha=ct=g)}}),
w.forEach((c,p)=>{if(p>0&&c.show){let g=ct;ct!=c.alpha&&(h.globalAlpha=ct=c.alpha),c._paths!=null&&Ao(p,!1);{let v=c.
_paths!=null?c._paths.gaps:null,_=c.points.show(s,p,Ge,Ke,v),$=c.points.filter(s,p,_,v);(_||$)&&(c.points._paths=
c.points.paths(s,p,Ge,Ke,$),Ao(p,!0))}ct!=g&&(h.globalAlpha=ct=g),qe("drawSeries",p)}}),r&&(h.globalAlpha=ct=1)}}
function Mo(r,c){let p=c?w[r].points:w[r];p._stroke=p.stroke(s,r),p._fill=p.fill(s,r)}function Ao(r,c){let p=c?
w[r].points:w[r],{stroke:g,fill:v,clip:_,flags:$,_stroke:P=p._stroke,_fill:N=p._fill,_width:U=p.width}=p._paths;
U=ve(U*pe,3);let O=null,W=U%2/2;c&&N==null&&(N=U>0?"#fff":P);let X=p.pxAlign==1&&W>0;if(X&&h.translate(W,W),!c){
let me=mt-U/2,fe=kt-U/2,ie=at+U,Z=$t+U;O=new Path2D,O.rect(me,fe,ie,Z)}c?ml(P,U,p.dash,p.cap,N,g,v,$,_):ea(r,P,
U,p.dash,p.cap,N,g,v,$,O,_),X&&h.translate(-W,-W)}function ea(r,c,p,g,v,_,$,P,N,U,O){let W=!1;N!=0&&L.forEach(
(X,me)=>{if(X.series[0]==r){let fe=w[X.series[1]],ie=e[X.series[1]],Z=(fe._paths||ys).band;nn(Z)&&(Z=X.dir==1?
Z[0]:Z[1]);let j,Me=null;fe.show&&Z&&nc(ie,Ge,Ke)?(Me=X.fill(s,me)||_,j=fe._paths.clip):Z=null,ml(c,p,g,v,Me,$,
P,N,U,O,j,Z),W=!0}}),W||ml(c,p,g,v,_,$,P,N,U,O)}let To=Qn|Jl;function ml(r,c,p,g,v,_,$,P,N,U,O,W){ko(r,c,p,g,v),
(N||U||W)&&(h.save(),N&&h.clip(N),U&&h.clip(U)),W?(P&To)==To?(h.clip(W),O&&h.clip(O),Ts(v,$),As(r,_,c)):P&Jl?(Ts(
v,$),h.clip(W),As(r,_,c)):P&Qn&&(h.save(),h.clip(W),O&&h.clip(O),Ts(v,$),h.restore(),As(r,_,c)):(Ts(v,$),As(r,
_,c)),(N||U||W)&&h.restore()}function As(r,c,p){p>0&&(c instanceof Map?c.forEach((g,v)=>{h.strokeStyle=Ms=v,h.
stroke(g)}):c!=null&&r&&h.stroke(c))}function Ts(r,c){c instanceof Map?c.forEach((p,g)=>{h.fillStyle=Pn=g,h.fill(
p)}):c!=null&&r&&h.fill(c)}function ta(r,c,p,g){let v=S[r],_;if(g<=0)_=[0,0];else{let $=v._space=v.space(s,r,c,
p,g),P=v._incrs=v.incrs(s,r,c,p,g,$);_=Su(c,p,P,g,$)}return v._found=_}function dl(r,c,p,g,v,_,$,P,N,U){let O=$%
2/2;k==1&&h.translate(O,O),ko(P,$,N,U,P),h.beginPath();let W,X,me,fe,ie=v+(g==0||g==3?-_:_);p==0?(X=v,fe=ie):(W=
v,me=ie);for(let Z=0;Z<r.length;Z++)c[Z]!=null&&(p==0?W=me=r[Z]:X=fe=r[Z],h.moveTo(W,X),h.lineTo(me,fe));h.stroke(),
k==1&&h.translate(-O,-O)}function na(r){let c=!0;return S.forEach((p,g)=>{if(!p.show)return;let v=E[p.scale];if(v.
min==null){p._show&&(c=!1,p._show=!1,Cn(!1));return}else p._show||(c=!1,p._show=!0,Cn(!1));let _=p.side,$=_%2,
{min:P,max:N}=v,[U,O]=ta(g,P,N,$==0?ne:V);if(O==0)return;let W=v.distr==2,X=p._splits=p.splits(s,g,P,N,U,O,W),
me=v.distr==2?X.map(j=>Lt[j]):X,fe=v.distr==2?Lt[X[1]]-Lt[X[0]]:U,ie=p._values=p.values(s,p.filter(s,me,g,O,fe),
g,O,fe);p._rotate=_==2?p.rotate(s,ie,g,O):0;let Z=p._size;p._size=_t(p.size(s,ie,g,r)),Z!=null&&p._size!=Z&&(c=
!1)}),c}function sa(r){let c=!0;return wo.forEach((p,g)=>{let v=p(s,g,fn,r);v!=qt[g]&&(c=!1),qt[g]=v}),c}function la(){
for(let r=0;r<S.length;r++){let c=S[r];if(!c.show||!c._show)continue;let p=c.side,g=p%2,v,_,$=c.stroke(s,r),P=p==
0||p==3?-1:1,[N,U]=c._found;if(c.label!=null){let ot=c.labelGap*P,gt=Ve((c._lpos+ot)*pe);xo(c.labelFont[0],$,"\
center",p==2?"top":bi),h.save(),g==1?(v=_=0,h.translate(gt,Ve(kt+$t/2)),h.rotate((p==3?-Ws:Ws)/2)):(v=Ve(mt+at/
2),_=gt);let dn=ir(c.label)?c.label(s,r,N,U):c.label;h.fillText(dn,v,_),h.restore()}if(U==0)continue;let O=E[c.
scale],W=g==0?at:$t,X=g==0?mt:kt,me=c._splits,fe=O.distr==2?me.map(ot=>Lt[ot]):me,ie=O.distr==2?Lt[me[1]]-Lt[me[0]]:
N,Z=c.ticks,j=c.border,Me=Z.show?Z.size:0,Le=Ve(Me*pe),Je=Ve((c.alignTo==2?c._size-Me-c.gap:c.gap)*pe),ye=c._rotate*
-Ws/180,Pe=x(c._pos*pe),dt=(Le+Je)*P,lt=Pe+dt;_=g==0?lt:0,v=g==1?lt:0;let Mt=c.font[0],Pt=c.align==1?Kn:c.align==
2?Rl:ye>0?Kn:ye<0?Rl:g==0?"center":p==3?Rl:Kn,Ot=ye||g==1?"middle":p==2?"top":bi;xo(Mt,$,Pt,Ot);let pt=c.font[1]*
c.lineGap,At=me.map(ot=>x(a(ot,O,W,X))),Ct=c._values;for(let ot=0;ot<Ct.length;ot++){let gt=Ct[ot];if(gt!=null){
g==0?v=At[ot]:_=At[ot],gt=""+gt;let dn=gt.indexOf(`
`)==-1?[gt]:gt.split(/\n/gm);for(let it=0;it<dn.length;it++){let Go=dn[it];ye?(h.save(),h.translate(v,_+it*pt),
h.rotate(ye),h.fillText(Go,0,0),h.restore()):h.fillText(Go,v,_+it*pt)}}}Z.show&&dl(At,Z.filter(s,fe,r,U,ie),g,
p,Pe,Le,ve(Z.width*pe,3),Z.stroke(s,r),Z.dash,Z.cap);let Vt=c.grid;Vt.show&&dl(At,Vt.filter(s,fe,r,U,ie),g,g==
0?2:1,g==0?kt:mt,g==0?$t:at,ve(Vt.width*pe,3),Vt.stroke(s,r),Vt.dash,Vt.cap),j.show&&dl([Pe],[1],g==0?1:0,g==0?
1:2,g==1?kt:mt,g==1?$t:at,ve(j.width*pe,3),j.stroke(s,r),j.dash,j.cap)}qe("drawAxes")}function Cn(r){w.forEach(
(c,p)=>{p>0&&(c._paths=null,r&&(l==1?(c.min=null,c.max=null):c.facets.forEach(g=>{g.min=null,g.max=null})))})}
let Es=!1,pl=!1,os=[];function oa(){pl=!1;for(let r=0;r<os.length;r++)qe(...os[r]);os.length=0}function Dn(){Es||
(gc(Eo),Es=!0)}function ia(r,c=!1){Es=!0,pl=c,r(s),Eo(),c&&os.length>0&&queueMicrotask(oa)}s.batch=ia;function Eo(){
if(nl&&(Zr(),nl=!1),Tn&&(Ir(),Tn=!1),ks){if(Ae(M,Kn,ke),Ae(M,"top",Oe),Ae(M,ds,ne),Ae(M,ps,V),Ae(T,Kn,ke),Ae(T,
"top",Oe),Ae(T,ds,ne),Ae(T,ps,V),Ae(b,ds,It),Ae(b,ps,on),d.width=Ve(It*pe),d.height=Ve(on*pe),S.forEach(({_el:r,
_show:c,_size:p,_pos:g,side:v})=>{if(r!=null)if(c){let _=v===3||v===0?p:0,$=v%2==1;Ae(r,$?"left":"top",g-_),Ae(
r,$?"width":"height",p),Ae(r,$?"top":"left",$?Oe:ke),Ae(r,$?"height":"width",$?V:ne),Gl(r,yn)}else bt(r,yn)}),
Ms=Pn=ol=rl=al=cl=ul=fl=il=null,ct=1,as(!0),ke!=An||Oe!=rn||ne!=Rt||V!=an){Cn(!1);let r=ne/Rt,c=V/an;if(Te&&!cn&&
C.left>=0){C.left*=r,C.top*=c,Nn&&Bt(Nn,Ve(C.left),0,ne,V),zn&&Bt(zn,0,Ve(C.top),ne,V);for(let p=0;p<St.length;p++){
let g=St[p];g!=null&&($n[p]*=r,Ln[p]*=c,Bt(g,_t($n[p]),_t(Ln[p]),ne,V))}}if(Se.show&&!xs&&Se.left>=0&&Se.width>
0){Se.left*=r,Se.width*=r,Se.top*=c,Se.height*=c;for(let p in kl)Ae(Un,p,Se[p])}An=ke,rn=Oe,Rt=ne,an=V}qe("set\
Size"),ks=!1}It>0&&on>0&&(h.clearRect(0,0,d.width,d.height),qe("drawClear"),z.forEach(r=>r()),qe("draw")),Se.show&&
xs&&(_s(Se),xs=!1),Te&&cn&&(mn(null,!0,!1),cn=!1),ee.show&&ee.live&&xt&&(wl(),xt=!1),u||(u=!0,s.status=1,qe("r\
eady")),ls=!1,Es=!1}s.redraw=(r,c)=>{Tn=c||!1,r!==!1?Zt(A,D.min,D.max):Dn()};function gl(r,c){let p=E[r];if(p.
from==null){if(Qe==0){let g=p.range(s,c.min,c.max,r);c.min=g[0],c.max=g[1]}if(c.min>c.max){let g=c.min;c.min=c.
max,c.max=g}if(Qe>1&&c.min!=null&&c.max!=null&&c.max-c.min<1e-16)return;r==A&&p.distr==2&&Qe>0&&(c.min=Nt(c.min,
e[0]),c.max=Nt(c.max,e[0]),c.min==c.max&&c.max++),I[r]=c,nl=!0,Dn()}}s.setScale=gl;let bl,yl,Nn,zn,_o,$o,Rn,Fn,
Lo,Po,xe,Ee,Jt=!1,Xe=C.drag,Ye=Xe.x,je=Xe.y;Te&&(C.x&&(bl=Et(Oa,T)),C.y&&(yl=Et(Va,T)),D.ori==0?(Nn=bl,zn=yl):
(Nn=yl,zn=bl),xe=C.left,Ee=C.top);let Se=s.select=He({show:!0,over:!0,left:0,width:0,top:0,height:0},t.select),
Un=Se.show?Et(Ha,Se.over?T:M):null;function _s(r,c){if(Se.show){for(let p in r)Se[p]=r[p],p in kl&&Ae(Un,p,r[p]);
c!==!1&&qe("setSelect")}}s.setSelect=_s;function ra(r){if(w[r].show)Y&&Gl(ue[r],yn);else if(Y&&bt(ue[r],yn),Te){
let p=_n?St[0]:St[r];p!=null&&Bt(p,-10,-10,ne,V)}}function Zt(r,c,p){gl(r,{min:c,max:p})}function Ut(r,c,p,g){
c.focus!=null&&ha(r),c.show!=null&&w.forEach((v,_)=>{_>0&&(r==_||r==null)&&(v.show=c.show,ra(_),l==2?(Zt(v.facets[0].
scale,null,null),Zt(v.facets[1].scale,null,null)):Zt(v.scale,null,null),Dn())}),p!==!1&&qe("setSeries",r,c),g&&
cs("setSeries",s,r,c)}s.setSeries=Ut;function aa(r,c){He(L[r],c)}function ca(r,c){r.fill=ce(r.fill||null),r.dir=
he(r.dir,-1),c=c??L.length,L.splice(c,0,r)}function ua(r){r==null?L.length=0:L.splice(r,1)}s.addBand=ca,s.setBand=
aa,s.delBand=ua;function fa(r,c){w[r].alpha=c,Te&&St[r]!=null&&(St[r].style.opacity=c),Y&&ue[r]&&(ue[r].style.
opacity=c)}let Gt,Qt,hn,Hn={focus:!0};function ha(r){if(r!=hn){let c=r==null,p=Ft.alpha!=1;w.forEach((g,v)=>{if(l==
1||v>0){let _=c||v==0||v==r;g._focus=c?null:_,p&&fa(v,_?1:Ft.alpha)}}),hn=r,p&&Dn()}}Y&&En&&st(ki,te,r=>{C._lock||
(un(r),hn!=null&&Ut(null,Hn,!0,De.setSeries))});function Ht(r,c,p){let g=E[c];p&&(r=r/pe-(g.ori==1?Oe:ke));let v=ne;
g.ori==1&&(v=V,r=v-r),g.dir==-1&&(r=v-r);let _=g._min,$=g._max,P=r/v,N=_+($-_)*P,U=g.distr;return U==3?qn(10,N):
U==4?lc(N,g.asinh):U==100?g.bwd(N):N}function ma(r,c){let p=Ht(r,A,c);return Nt(p,e[0],Ge,Ke)}s.valToIdx=r=>Nt(
r,e[0]),s.posToIdx=ma,s.posToVal=Ht,s.valToPos=(r,c,p)=>E[c].ori==0?i(r,E[c],p?at:ne,p?mt:0):o(r,E[c],p?$t:V,p?
kt:0),s.setCursor=(r,c,p)=>{xe=r.left,Ee=r.top,mn(null,c,p)};function Co(r,c){Ae(Un,Kn,Se.left=r),Ae(Un,ds,Se.
width=c)}function Do(r,c){Ae(Un,"top",Se.top=r),Ae(Un,ps,Se.height=c)}let is=D.ori==0?Co:Do,rs=D.ori==1?Co:Do;
function da(){if(Y&&ee.live)for(let r=l==2?1:0;r<w.length;r++){if(r==0&&vt)continue;let c=ee.values[r],p=0;for(let g in c)
ft[r][p++].firstChild.nodeValue=c[g]}}function wl(r,c){if(r!=null&&(r.idxs?r.idxs.forEach((p,g)=>{oe[g]=p}):ac(
r.idx)||oe.fill(r.idx),ee.idx=oe[0]),Y&&ee.live){for(let p=0;p<w.length;p++)(p>0||l==1&&!vt)&&pa(p,oe[p]);da()}
xt=!1,c!==!1&&qe("setLegend")}s.setLegend=wl;function pa(r,c){let p=w[r],g=r==0&&q==2?Lt:e[r],v;vt?v=p.values(
s,r,c)??jt:(v=p.value(s,c==null?null:g[c],r,c),v=v==null?jt:{_:v}),ee.values[r]=v}function mn(r,c,p){Lo=xe,Po=
Ee,[xe,Ee]=C.move(s,xe,Ee),C.left=xe,C.top=Ee,Te&&(Nn&&Bt(Nn,Ve(xe),0,ne,V),zn&&Bt(zn,0,Ve(Ee),ne,V));let g,v=Ge>
Ke;Gt=we,Qt=null;let _=D.ori==0?ne:V,$=D.ori==1?ne:V;if(xe<0||Qe==0||v){g=C.idx=null;for(let P=0;P<w.length;P++){
let N=St[P];N!=null&&Bt(N,-10,-10,ne,V)}En&&Ut(null,Hn,!0,r==null&&De.setSeries),ee.live&&(oe.fill(g),xt=!0)}else{
let P,N,U;l==1&&(P=D.ori==0?xe:Ee,N=Ht(P,A),g=C.idx=Nt(N,e[0],Ge,Ke),U=H(e[0][g],D,_,0));let O=-10,W=-10,X=0,me=0,
fe=!0,ie="",Z="";for(let j=l==2?1:0;j<w.length;j++){let Me=w[j],Le=oe[j],Je=Le==null?null:l==1?e[j][Le]:e[j][1][Le],
ye=C.dataIdx(s,j,g,N),Pe=ye==null?null:l==1?e[j][ye]:e[j][1][ye];if(xt=xt||Pe!=Je||ye!=Le,oe[j]=ye,j>0&&Me.show){
let dt=ye==null?-10:ye==g?U:H(l==1?e[0][ye]:e[j][0][ye],D,_,0),lt=Pe==null?-10:J(Pe,l==1?E[Me.scale]:E[Me.facets[1].
scale],$,0);if(En&&Pe!=null){let Mt=D.ori==1?xe:Ee,Pt=We(Ft.dist(s,j,ye,lt,Mt));if(Pt<Gt){let Ot=Ft.bias;if(Ot!=
0){let pt=Ht(Mt,Me.scale),At=Pe>=0?1:-1,Ct=pt>=0?1:-1;Ct==At&&(Ct==1?Ot==1?Pe>=pt:Pe<=pt:Ot==1?Pe<=pt:Pe>=pt)&&
(Gt=Pt,Qt=j)}else Gt=Pt,Qt=j}}if(xt||_n){let Mt,Pt;D.ori==0?(Mt=dt,Pt=lt):(Mt=lt,Pt=dt);let Ot,pt,At,Ct,Vt,ot,
gt=!0,dn=et.bbox;if(dn!=null){gt=!1;let it=dn(s,j);At=it.left,Ct=it.top,Ot=it.width,pt=it.height}else At=Mt,Ct=
Pt,Ot=pt=et.size(s,j);if(ot=et.fill(s,j),Vt=et.stroke(s,j),_n)j==Qt&&Gt<=Ft.prox&&(O=At,W=Ct,X=Ot,me=pt,fe=gt,
ie=ot,Z=Vt);else{let it=St[j];it!=null&&($n[j]=At,Ln[j]=Ct,_i(it,Ot,pt,gt),Ti(it,ot,Vt),Bt(it,_t(At),_t(Ct),ne,
V))}}}}if(_n){let j=Ft.prox,Me=hn==null?Gt<=j:Gt>j||Qt!=hn;if(xt||Me){let Le=St[0];Le!=null&&($n[0]=O,Ln[0]=W,
_i(Le,X,me,fe),Ti(Le,ie,Z),Bt(Le,_t(O),_t(W),ne,V))}}}if(Se.show&&Jt)if(r!=null){let[P,N]=De.scales,[U,O]=De.match,
[W,X]=r.cursor.sync.scales,me=r.cursor.drag;if(Ye=me._x,je=me._y,Ye||je){let{left:fe,top:ie,width:Z,height:j}=r.
select,Me=r.scales[W].ori,Le=r.posToVal,Je,ye,Pe,dt,lt,Mt=P!=null&&U(P,W),Pt=N!=null&&O(N,X);Mt&&Ye?(Me==0?(Je=
fe,ye=Z):(Je=ie,ye=j),Pe=E[P],dt=H(Le(Je,W),Pe,_,0),lt=H(Le(Je+ye,W),Pe,_,0),is(zt(dt,lt),We(lt-dt))):is(0,_),
Pt&&je?(Me==1?(Je=fe,ye=Z):(Je=ie,ye=j),Pe=E[N],dt=J(Le(Je,X),Pe,$,0),lt=J(Le(Je+ye,X),Pe,$,0),rs(zt(dt,lt),We(
lt-dt))):rs(0,$)}else xl()}else{let P=We(Lo-_o),N=We(Po-$o);if(D.ori==1){let X=P;P=N,N=X}Ye=Xe.x&&P>=Xe.dist,je=
Xe.y&&N>=Xe.dist;let U=Xe.uni;U!=null?Ye&&je&&(Ye=P>=U,je=N>=U,!Ye&&!je&&(N>P?je=!0:Ye=!0)):Xe.x&&Xe.y&&(Ye||je)&&
(Ye=je=!0);let O,W;Ye&&(D.ori==0?(O=Rn,W=xe):(O=Fn,W=Ee),is(zt(O,W),We(W-O)),je||rs(0,$)),je&&(D.ori==1?(O=Rn,
W=xe):(O=Fn,W=Ee),rs(zt(O,W),We(W-O)),Ye||is(0,_)),!Ye&&!je&&(is(0,0),rs(0,0))}if(Xe._x=Ye,Xe._y=je,r==null){if(p){
if(Io!=null){let[P,N]=De.scales;De.values[0]=P!=null?Ht(D.ori==0?xe:Ee,P):null,De.values[1]=N!=null?Ht(D.ori==
1?xe:Ee,N):null}cs(Fl,s,xe,Ee,ne,V,g)}if(En){let P=p&&De.setSeries,N=Ft.prox;hn==null?Gt<=N&&Ut(Qt,Hn,!0,P):Gt>
N?Ut(null,Hn,!0,P):Qt!=hn&&Ut(Qt,Hn,!0,P)}}xt&&(ee.idx=g,wl()),c!==!1&&qe("setCursor")}let Xt=null;Object.defineProperty(
s,"rect",{get(){return Xt==null&&as(!1),Xt}});function as(r=!1){r?Xt=null:(Xt=T.getBoundingClientRect(),qe("sy\
ncRect",Xt))}function No(r,c,p,g,v,_,$){C._lock||Jt&&r!=null&&r.movementX==0&&r.movementY==0||(vl(r,c,p,g,v,_,
$,!1,r!=null),r!=null?mn(null,!0,!0):mn(c,!0,!1))}function vl(r,c,p,g,v,_,$,P,N){if(Xt==null&&as(!1),un(r),r!=
null)p=r.clientX-Xt.left,g=r.clientY-Xt.top;else{if(p<0||g<0){xe=-10,Ee=-10;return}let[U,O]=De.scales,W=c.cursor.
sync,[X,me]=W.values,[fe,ie]=W.scales,[Z,j]=De.match,Me=c.axes[0].side%2==1,Le=D.ori==0?ne:V,Je=D.ori==1?ne:V,
ye=Me?_:v,Pe=Me?v:_,dt=Me?g:p,lt=Me?p:g;if(fe!=null?p=Z(U,fe)?a(X,E[U],Le,0):-10:p=Le*(dt/ye),ie!=null?g=j(O,ie)?
a(me,E[O],Je,0):-10:g=Je*(lt/Pe),D.ori==1){let Mt=p;p=g,g=Mt}}N&&(c==null||c.cursor.event.type==Fl)&&((p<=1||p>=
ne-1)&&(p=gn(p,ne)),(g<=1||g>=V-1)&&(g=gn(g,V))),P?(_o=p,$o=g,[Rn,Fn]=C.move(s,p,g)):(xe=p,Ee=g)}let kl={width:0,
height:0,left:0,top:0};function xl(){_s(kl,!1)}let zo,Ro,Fo,Uo;function Ho(r,c,p,g,v,_,$){Jt=!0,Ye=je=Xe._x=Xe.
_y=!1,vl(r,c,p,g,v,_,$,!0,!1),r!=null&&(st(Ul,Bl,Oo,!1),cs(wi,s,Rn,Fn,ne,V,null));let{left:P,top:N,width:U,height:O}=Se;
zo=P,Ro=N,Fo=U,Uo=O}function Oo(r,c,p,g,v,_,$){Jt=Xe._x=Xe._y=!1,vl(r,c,p,g,v,_,$,!1,!0);let{left:P,top:N,width:U,
height:O}=Se,W=U>0||O>0,X=zo!=P||Ro!=N||Fo!=U||Uo!=O;if(W&&X&&_s(Se),Xe.setScale&&W&&X){let me=P,fe=U,ie=N,Z=O;
if(D.ori==1&&(me=N,fe=O,ie=P,Z=U),Ye&&Zt(A,Ht(me,A),Ht(me+fe,A)),je)for(let j in E){let Me=E[j];j!=A&&Me.from==
null&&Me.min!=we&&Zt(j,Ht(ie+Z,j),Ht(ie,j))}xl()}else C.lock&&(C._lock=!C._lock,mn(c,!0,r!=null));r!=null&&(Mn(
Ul,Bl),cs(Ul,s,xe,Ee,ne,V,null))}function ga(r,c,p,g,v,_,$){if(C._lock)return;un(r);let P=Jt;if(Jt){let N=!0,U=!0,
O=10,W,X;D.ori==0?(W=Ye,X=je):(W=je,X=Ye),W&&X&&(N=xe<=O||xe>=ne-O,U=Ee<=O||Ee>=V-O),W&&N&&(xe=xe<Rn?0:ne),X&&
U&&(Ee=Ee<Fn?0:V),mn(null,!0,!0),Jt=!1}xe=-10,Ee=-10,oe.fill(null),mn(null,!0,!0),P&&(Jt=P)}function Vo(r,c,p,g,v,_,$){
C._lock||(un(r),ll(),xl(),r!=null&&cs(xi,s,xe,Ee,ne,V,null))}function Wo(){S.forEach(Mu),sl(s.width,s.height,!0)}
wn(Bs,jn,Wo);let On={};On.mousedown=Ho,On.mousemove=No,On.mouseup=Oo,On.dblclick=Vo,On.setSeries=(r,c,p,g)=>{let v=De.
match[2];p=v(s,c,p),p!=-1&&Ut(p,g,!0,!1)},Te&&(st(wi,T,Ho),st(Fl,T,No),st(vi,T,r=>{un(r),as(!1)}),st(ki,T,ga),
st(xi,T,Vo),Zl.add(s),s.syncRect=as);let $s=s.hooks=t.hooks||{};function qe(r,c,p){pl?os.push([r,c,p]):r in $s&&
$s[r].forEach(g=>{g.call(null,s,c,p)})}(t.plugins||[]).forEach(r=>{for(let c in r.hooks)$s[c]=($s[c]||[]).concat(
r.hooks[c])});let Bo=(r,c,p)=>p,De=He({key:null,setSeries:!1,filters:{pub:Di,sub:Di},scales:[A,w[1]?w[1].scale:
null],match:[Ni,Ni,Bo],values:[null,null]},C.sync);De.match.length==2&&De.match.push(Bo),C.sync=De;let Io=De.key,
Sl=Lr(Io);function cs(r,c,p,g,v,_,$){De.filters.pub(r,c,p,g,v,_,$)&&Sl.pub(r,c,p,g,v,_,$)}Sl.sub(s);function ba(r,c,p,g,v,_,$){
De.filters.sub(r,c,p,g,v,_,$)&&On[r](null,c,p,g,v,_,$)}s.pub=ba;function ya(){Sl.unsub(s),Zl.delete(s),ln.clear(),
Kl(Bs,jn,Wo),m.remove(),te?.remove(),qe("destroy")}s.destroy=ya;function Ml(){qe("init",t,e),vo(e||t.data,!1),
I[A]?gl(A,I[A]):ll(),xs=Se.show&&(Se.width>0||Se.height>0),cn=xt=!0,sl(t.width,t.height)}return w.forEach(yo),
S.forEach(Jr),n?n instanceof HTMLElement?(n.appendChild(m),Ml()):n(s,Ml):Ml(),s}Be.assign=He;Be.fmtNum=lo;Be.rangeNum=
Is;Be.rangeLog=Ys;Be.rangeAsinh=no;Be.orient=kn;Be.pxRatio=pe;Be.join=pc;Be.fmtDate=io,Be.tzDate=Tc;Be.sync=Lr;
{Be.addGap=au,Be.clipGaps=Js;let t=Be.paths={points:Rr};t.linear=Ur,t.stepped=fu,t.bars=hu,t.spline=du}function Au(t,e,n,s){let{model:l}=t,i=l.column("time"),o=t.inUse(),a=l.momentOf(e-1),u=l.momentOf(n),m=[e/1e9],
d=[a===0?0:o[a-1]],h=s/Math.max(1,n-e),b=M=>{m.push(i[M]/1e9),d.push(o[M])};for(let M=a;M<u;){let T=Math.floor(
(i[M]-e)*h),k=M,[x,y]=[M,M];for(;M<u&&Math.floor((i[M]-e)*h)===T;M++)o[M]<o[x]&&(x=M),o[M]>o[y]&&(y=M);let w=[
...new Set([k,Math.min(x,y),Math.max(x,y),M-1])];for(let S of w)b(S)}return m.push(n/1e9),d.push(u===0?0:o[u-1]),
[m,d]}var el=class{constructor(e){this.state=e;this.element.setAttribute("aria-label","Bytes in use over time.\
 Arrow keys go to the previous and next change, plus and minus zoom."),this.element.append(this.place,this.note),
this.element.addEventListener("keydown",n=>this.key(n)),this.whole(),new ResizeObserver(()=>this.resize()).observe(
this.element)}state;element=f("div",{class:"timeline",tabindex:0,role:"application"});note=f("div",{class:"not\
e","aria-live":"polite"});place=f("div",{});plot=null;from=0;to=0;space=NaN;whole(){let{model:e}=this.state,n=[
...e.tables.marks,...e.tables.refusals].map(o=>o.time),[s,l]=[e.steps?e.column("time")[0]:0,e.timeAt(e.steps)];
this.from=n.reduce((o,a)=>Math.min(o,a),e.steps?s:n[0]??0),this.to=Math.max(this.from+(e.steps>1?1e3:1e5),n.reduce(
(o,a)=>Math.max(o,a),l));let i=(this.to-this.from)/100;this.from=Math.max(0,this.from-i),this.to+=i}resize(){let e=this.
element.clientWidth;this.plot&&e>0&&Math.abs(this.plot.width-e)>1&&this.draw()}zoom(e,n){n-e<1e3&&(n=e+1e3),[this.
from,this.to]=[Math.max(0,e),n],this.data()}key(e){let n=e.shiftKey?100:1,s=this.state.model.timeAt(this.state.
at),l=this.to-this.from;switch(e.key){case"ArrowLeft":case"ArrowRight":this.state.setMoment(this.state.neighbour(
e.key==="ArrowRight",n));break;case"+":case"=":this.zoom(s-l/4,s+l/4);break;case"-":this.zoom(s-l,s+l);break;case"\
0":this.whole(),this.data();break;default:return}e.preventDefault(),e.stopPropagation()}data(){let e=this.plot?.
width??800,[n,s]=Au(this.state,this.from,this.to,e);this.plot?.setData([n,s],!1),this.plot?.setScale("x",{min:this.
from/1e9,max:this.to/1e9});let l=s.reduce((i,o)=>Math.max(i,o),512);this.plot?.setScale("y",{min:0,max:l*1.12})}update(){
this.plot?this.space!==this.state.space?(this.space=this.state.space,this.data()):this.plot.redraw(!1):this.draw()}draw(){
this.plot?.destroy(),this.space=this.state.space;let e={stroke:de("--soft"),grid:{stroke:de("--line"),width:1},
ticks:{stroke:de("--line"),width:1}},n="12px system-ui, sans-serif",s={width:Math.max(200,this.element.clientWidth),
height:190,legend:{show:!1},scales:{x:{time:!1,auto:!1},y:{auto:!1}},axes:[{...e,font:n,values:(l,i)=>i.map(o=>`${+o.
toFixed(9)} s`),size:34,space:90},{...e,font:n,size:72,splits:l=>Tu(l.scales.y.max??1),values:(l,i)=>i.map(G)}],
series:[{},{stroke:de("--accent"),fill:de("--accent-fill"),width:1.5,paths:Be.paths.stepped({align:1}),points:{
show:!1}}],cursor:{y:!1,points:{show:!1},drag:{x:!0,y:!1,setScale:!1}},hooks:{draw:[l=>this.signs(l)],setCursor:[
l=>this.say(l)],setSelect:[l=>{let{left:i,width:o}=l.select;o>2&&this.zoom(l.posToVal(i,"x")*1e9,l.posToVal(i+
o,"x")*1e9),l.setSelect({left:0,top:0,width:0,height:0},!1)}],ready:[l=>{let i=0;l.over.addEventListener("mous\
edown",o=>i=o.clientX),l.over.addEventListener("mouseup",o=>{if(Math.abs(o.clientX-i)>2)return;let a=l.posToVal(
o.clientX-l.over.getBoundingClientRect().left,"x")*1e9;this.state.setMoment(this.near(l,a))}),l.over.addEventListener(
"dblclick",()=>{this.whole(),this.data()}),l.over.addEventListener("mouseleave",()=>this.rest())}]}};re(this.place),
this.plot=new Be(s,[[0],[0]],this.place),this.data(),this.rest()}near(e,n){let{model:s}=this.state,l=e.valToPos(
n/1e9,"x");for(let i of this.state.names()){let o=i.of(this.state.space);if(Math.abs(e.valToPos(s.timeAt(o)/1e9,
"x")-l)<=5)return o}return s.momentOf(n)}rest(){re(this.note,"Click for a moment, drag to zoom, double click f\
or all.")}say(e){let{left:n}=e.cursor;if(n==null||n<0)return;let s=e.posToVal(n,"x")*1e9,l=this.state.model.momentOf(
s);re(this.note,`${Ne(Math.max(0,s))}: ${G(this.state.inUseAt(l))} in use`)}signs(e){let{ctx:n,bbox:s}=e,{state:l}=this,
{model:i}=l,o=Be.pxRatio,[a,u]=[s.top,s.top+s.height],m=y=>e.valToPos(y/1e9,"x",!0),d=y=>y>=s.left-1&&y<=s.left+
s.width+1;n.save(),n.lineWidth=o,n.font=`${11*o}px system-ui, sans-serif`,n.textAlign="left",n.textBaseline="a\
lphabetic";let h=e.valToPos(l.capacity(),"y",!0);h>=a&&(n.strokeStyle=de("--bad"),n.setLineDash([6*o,4*o]),n.beginPath(),
n.moveTo(s.left,h),n.lineTo(s.left+s.width,h),n.stroke(),n.setLineDash([]));let b=-1/0;for(let y of i.tables.marks){
let w=m(y.time);if(!d(w))continue;n.strokeStyle=n.fillStyle=de("--mark"),n.setLineDash([3*o,3*o]),n.beginPath(),
n.moveTo(w,a),n.lineTo(w,u),n.stroke(),n.setLineDash([]);let S=y.name.length>18?y.name.slice(0,17)+"\u2026":y.
name,E=n.measureText(S).width+8*o;w>b&&w+E<s.left+s.width&&(n.fillText(S,w+4*o,a+11*o),b=w+E)}let M=l.chosen();
n.strokeStyle=de("--bad"),n.lineWidth=2*o;for(let y of i.tables.refusals){let w=m(y.time);if(!M[y.space]||!d(w))
continue;let[S,E]=[a+22*o,5*o];n.beginPath(),n.moveTo(w-E,S-E),n.lineTo(w+E,S+E),n.moveTo(w+E,S-E),n.lineTo(w-
E,S+E),n.stroke()}let T=l.byName("peak").of(l.space),k=m(i.timeAt(T));if(d(k)&&T>0){let y=e.valToPos(l.inUseAt(
T),"y",!0);n.fillStyle=de("--accent"),n.beginPath(),n.moveTo(k,y-2*o),n.lineTo(k-5*o,y-10*o),n.lineTo(k+5*o,y-
10*o),n.fill()}let x=m(i.timeAt(l.at));d(x)&&(n.strokeStyle=n.fillStyle=de("--ink"),n.lineWidth=1.5*o,n.beginPath(),
n.moveTo(x,a),n.lineTo(x,u),n.stroke(),n.beginPath(),n.arc(x,e.valToPos(l.inUseAt(l.at),"y",!0),3.5*o,0,7),n.fill()),
n.restore()}};function Tu(t){let e=2**Math.floor(Math.log2(Math.max(4,t)));for(;t/e<3;)e/=2;let n=[];for(let s=0;s<=
t;s+=e)n.push(s);return n}function Wr(t){let{model:e}=t,{spaces:n}=e.tables,s=160,l=new Float64Array(n.length*
s),i=new Float64Array(n.length),[o,a]=[e.column("space"),e.column("size")],u=e.column("time"),[m,d]=[e.steps?u[0]:
0,e.timeAt(e.steps)],h=(s-1)/Math.max(1,d-m);for(let y=0;y<e.steps;y++){let w=e.of[y];if(w===4294967295)continue;
let S=o[w];i[S]+=e.begin[w]===y?a[w]:-a[w];let E=S*s+Math.floor((u[y]-m)*h);l[E]=Math.max(l[E],i[S],1e-9)}let b=n.
reduce((y,w)=>Math.max(y,w.peak),1),M=t.used.map(y=>{let w=n[y],S=e.tables.refusals.filter(z=>z.space===y).length,
E=f("canvas",{class:"spark","aria-hidden":"true"});[E.width,E.height]=[s,22];let L=E.getContext("2d");L.fillStyle=
de("--accent");let A=0;for(let z=0;z<s;z++){A=l[y*s+z]>0?l[y*s+z]:A;let F=A/b*20;L.fillRect(z,22-F,1,F)}let R=f(
"button",{class:"plain",onclick:()=>t.setSpace(y)},w.name);return f("tr",{class:t.space===y?"chosen":void 0},f(
"td",{},R),f("td",{},E),f("td",{class:"number"},G(w.peak)),f("td",{class:"number"},G(t.model.tables.is_snapshot?
0:Eu(t,y))),f("td",{class:"number"},G(w.capacity)),f("td",{class:"number"},S?`\u2715 ${S}`:""))}),T=["Memory",
"In use","Peak","End","Capacity","Refused"].map((y,w)=>f("th",{class:w>1?"number":void 0},y)),k=f("button",{class:"\
plain",onclick:()=>t.setSpace(Ue)},"all devices"),x=t.used.filter(y=>n[y].device!==null).length;return f("div",
{class:"overview",tabindex:0,role:"region","aria-label":"Memories"},f("table",{},f("thead",{},f("tr",{},...T)),
f("tbody",{},x>1&&f("tr",{class:t.space===Ue?"chosen":void 0},f("td",{colspan:6},k)),...M)))}var mo=new Map;function Eu(t,e){
if(mo.size===0){let{model:n}=t,[s,l]=[n.column("space"),n.column("size")],{spaces:i}=n.tables,o=new Float64Array(
i.length);for(let a=0;a<n.allocations;a++){let u=i[s[a]].end_at;n.begin[a]<u&&n.end[a]>=u&&(o[s[a]]+=l[a])}o.forEach(
(a,u)=>mo.set(u,a))}return mo.get(e)??0}var _u=[["1 \u2026 9","views"],["p, e, l","peak, end, last change"],["m, M","next mark, previous mark"],["o","\
next refusal"],["\u2190 \u2192","previous and next change, with Shift a hundred"],["d, D","next memory, previo\
us memory"],["/","search"],["t","light or dark"],["Escape","closes what is open"],["?","this list"]];function tl(t,e){
try{return e!==void 0&&localStorage.setItem(`tpu-emu-${t}`,e),localStorage.getItem(`tpu-emu-${t}`)}catch{return null}}
var po=class{constructor(e){this.model=e;this.state=new Rs(e),this.drawer=new Ns(e);let n=El(e).map(([o])=>o),
s=tl("editor");_l(s!==null&&n.includes(s)&&e.tables.editor==="file"?s:e.tables.editor),this.timeline=new el(this.
state);let{state:l,drawer:i}=this;this.views=[oi(l,i),ii(l,i),ri(l,i),ai(l,i),di(l,i),ci(l,i),ui(l,i),fi(l,i),
pi(l,i)]}model;state;drawer;timeline;views;cards=f("div",{class:"cards"});controls=f("div",{class:"bar control\
s"});memories=f("div",{});tabs=f("div",{class:"tabs",role:"tablist","aria-label":"Views"});panel=f("main",{role:"\
tabpanel",id:"panel",tabindex:-1});start(){let e=document.getElementById("app"),{tables:n}=this.model;document.
title=`${n.file.split("/").pop()} \u2013 tpu-emu`,re(e,this.head(),...this.careful(),this.controls,this.cards,
this.timeline.element,this.memories,this.tabs,this.panel,this.drawer.element),this.fromAddress(),this.state.listen(
l=>{l==="moment"&&this.moment(),this.show(),this.toAddress()}),document.addEventListener("keydown",l=>this.key(
l)),window.addEventListener("hashchange",()=>this.fromAddress()),matchMedia("(prefers-color-scheme: dark)").addEventListener(
"change",()=>this.redraw());let s=innerWidth;window.addEventListener("resize",()=>{s!==innerWidth&&this.show(),
s=innerWidth}),this.moment(),this.show(),setTimeout(()=>ni(this.model),200)}head(){let{tables:e}=this.model,n=f(
"button",{id:"theme",onclick:()=>this.theme(),title:"t"},"Light / dark"),s=f("button",{id:"help",onclick:()=>this.
help(),title:"?"},"Keys"),l=tt("Open files with",El(this.model),Jo(),u=>{_l(u),tl("editor",u),this.show()}),i=new Date(
e.started/1e6),o=Number.isNaN(i.getTime())?"":`, ${i.toISOString().replace("T"," ").slice(0,19)} UTC`,a=e.is_snapshot?
"snapshot":"trace";return f("header",{},f("div",{},f("h1",{},e.file.split("/").pop()||"trace"),f("p",{class:"s\
oft"},`${a} of process ${e.process}${o}; ${e.topology}; tpu-emu ${e.version}, format ${e.format.join(".")}; ${ae(
this.model.steps,"change")}`)),f("div",{class:"bar"},l,n,s))}careful(){return this.model.tables.cut.map(e=>f("\
p",{class:"careful",role:"alert"},f("b",{},"Careful: "),`${e}.`))}moment(){let{state:e,model:n}=this,{spaces:s,
marks:l,refusals:i}=n.tables,o=e.used.map(d=>[String(d),s[d].name]);e.used.filter(d=>s[d].device!==null).length>
1&&o.unshift([String(Ue),"all devices"]),o.length===0&&o.push([String(e.space),e.space===Ue?"no memory":e.name()]);
let a=(d,h)=>f("button",{"aria-pressed":String(e.named===d),onclick:()=>e.setNamed(d),id:`at-${d}`},h),u=[["",
"\u2013"],...e.names().slice(3).map(({name:d,text:h})=>[d,h])],m=document.activeElement?.id;if(re(this.controls,
tt("Memory",o,String(e.space),d=>e.setSpace(Number(d))),f("span",{class:"group"},a("peak","Peak"),a("end","End"),
a("last","Last change")),l.length+i.length>0&&tt("Go to",u,u.some(([d])=>d===e.named)?e.named:"",d=>d&&e.setNamed(
d)),f("span",{class:"group"},f("button",{"aria-label":"Previous change",onclick:()=>e.setMoment(e.neighbour(!1,
1)),id:"step-back"},"\u25C0"),f("span",{id:"moment","data-at":e.at,"aria-live":"polite"},`${Ne(n.timeAt(e.at))}\
, after change ${$e(e.at)}`),f("button",{"aria-label":"Next change",onclick:()=>e.setMoment(e.neighbour(!0,1)),
id:"step-on"},"\u25B6"))),m&&document.getElementById(m)?.focus({preventScroll:!0}),this.card(),e.used.length>1){
let d=this.memories.firstElementChild?.scrollTop??0;re(this.memories,Wr(e)),this.memories.firstElementChild.scrollTop=
d}this.timeline.update()}card(){let{state:e,model:n}=this,s=e.capacity(),l=e.space===Ue?null:n.tables.spaces[e.
space]?.usage,i=(h,b,M,T)=>f("div",{class:"card",id:`card-${h}`,"data-bytes":M},f("h2",{},b),f("p",{class:"siz\
e",title:Ce(M)},G(M)),f("p",{class:"soft"},T)),o=h=>e.byName(h).of(e.space),[a,u]=[o("peak"),o("end")],m=h=>`${en(
h,s)} of the capacity`,d=l?l[1]:e.inUseAt(a);re(this.cards,i("peak","Peak",d,l?m(d):`${m(d)}, at ${Ne(n.timeAt(
a))}`),i("end",l?"In use":"End",e.inUseAt(u),l?"when the snapshot was taken":u<n.steps?"before the client's cl\
ean-up":"behind the last change"),i("now","Chosen moment",e.inUseAt(e.at),m(e.inUseAt(e.at))),i("capacity","Ca\
pacity",s,e.space===Ue?"of all devices":e.name()))}show(){nt.hide();let{state:e}=this,{refusals:n,refused_programs:s}=this.
model.tables,l=n.length+s.length,i=this.tabs.contains(document.activeElement);re(this.tabs,...this.views.map((a,u)=>{
let m=a.name===e.view,d=a.name==="refusals"&&l?` (${$e(l)})`:"";return f("button",{role:"tab",id:`tab-${a.name}`,
"aria-selected":String(m),"aria-controls":"panel",tabindex:m?0:-1,title:String(u+1),onclick:()=>e.setView(a.name)},
a.title+d)}));let o=this.views.find(a=>a.name===e.view)??this.views[0];this.panel.setAttribute("aria-labelledb\
y",`tab-${o.name}`),this.panel.firstElementChild!==o.element&&this.panel.replaceChildren(o.element),o.show(),i&&
document.getElementById(`tab-${o.name}`)?.focus({preventScroll:!0})}redraw(){this.timeline.draw(),this.moment(),
this.show()}theme(){let e=document.documentElement,n=e.dataset.theme?e.dataset.theme==="dark":matchMedia("(pre\
fers-color-scheme: dark)").matches;e.dataset.theme=n?"light":"dark",tl("theme",e.dataset.theme),this.redraw()}help(){
let e=f("dialog",{class:"help"}),n=_u.map(([s,l])=>f("tr",{},f("th",{},f("kbd",{},s)),f("td",{},l)));ze(e,f("h\
2",{},"Keys"),f("table",{},...n),f("button",{onclick:()=>e.close()},"Close")),e.addEventListener("close",()=>e.
remove()),document.body.append(e),e.showModal()}next(e,n){let{state:s}=this,l=s.names().filter(({name:a})=>a.startsWith(
e));if(l.length===0)return;let i=l.findIndex(({name:a})=>a===s.named),o=i<0?n?0:l.length-1:(i+(n?1:l.length-1))%
l.length;s.setNamed(l[o].name)}key(e){let n=e.target;if(e.ctrlKey||e.metaKey||e.altKey||document.querySelector(
"dialog[open]"))return;if(e.key==="Escape")return n instanceof HTMLInputElement?n.blur():this.drawer.close();if(n instanceof
HTMLInputElement||n instanceof HTMLSelectElement)return;let{state:s}=this,{key:l}=e,i=n.getAttribute("role")===
"tab";if(/^[1-9]$/.test(l)&&this.views[Number(l)-1])s.setView(this.views[Number(l)-1].name);else if(i&&(l==="A\
rrowLeft"||l==="ArrowRight")){let o=this.views.findIndex(a=>a.name===s.view);s.setView(this.views[(o+(l==="Arr\
owRight"?1:this.views.length-1))%this.views.length].name)}else if(l==="p")s.setNamed("peak");else if(l==="e")s.
setNamed("end");else if(l==="l")s.setNamed("last");else if(l==="m"||l==="M")this.next("mark-",l==="m");else if(l===
"o"||l==="O")this.next("refusal-",l==="o");else if(l==="d"||l==="D"){let o=[...s.used.length>1?[Ue]:[],...s.used],
a=o.indexOf(s.space);o.length&&s.setSpace(o[(a+(l==="d"?1:o.length-1))%o.length])}else if((l==="ArrowLeft"||l===
"ArrowRight")&&!(n instanceof HTMLCanvasElement))s.setMoment(s.neighbour(l==="ArrowRight",e.shiftKey?100:1));else if(l===
"/")this.panel.querySelector("input[type=search]")?.focus();else if(l==="t")this.theme();else if(l==="?")this.
help();else return;e.preventDefault()}toAddress(){let{state:e}=this,n=e.named??String(e.at);history.replaceState(
null,"",`#view=${e.view}&memory=${e.space}&at=${n}`)}fromAddress(){let e=new URLSearchParams(location.hash.slice(
1)),{state:n}=this,s=Number(e.get("memory")??NaN);e.has("memory")&&(s===Ue||this.model.tables.spaces[s])&&n.setSpace(
s);let l=e.get("at");l!==null&&/^\d+$/.test(l)?n.setMoment(Number(l)):l!==null&&n.setNamed(l);let i=e.get("vie\
w");i!==null&&this.views.some(({name:o})=>o===i)&&n.setView(i)}};async function $u(){let t=tl("theme");(t==="l\
ight"||t==="dark")&&(document.documentElement.dataset.theme=t);try{if(typeof DecompressionStream>"u")throw new Error(
"this browser has no DecompressionStream; those since 2023 have it");new po(await Ps.read()).start(),document.
documentElement.dataset.ready="true"}catch(e){throw re(document.getElementById("app"),f("p",{class:"careful"},
`The report cannot be shown: ${e instanceof Error?e.message:String(e)}`)),e}}$u();})();
