package security

import "strings"

// exprHostile returns expressions that would run forever, use all memory or stack, or break out of their sandbox, by
// class: the expressions in the red team's report and new ones of the same kinds. All have balanced braces, because an
// expression ends at its closing brace.
func exprHostile() []string {
	return strings.Split(strings.TrimSpace(exprCorpus), "\n")
}

const exprCorpus = `
JSON.parse({n:0,toString:function(){return this.n++<1?"1":"[".repeat(4000000)}})
JSON.parse({n:0,toString:function(){return this.n++<2?"1":"[".repeat(30000000)}})
JSON.parse({n:0,toString:function(){return this.n++<1?"1":'{"a":'.repeat(3000000)}}}})
Reflect.apply(function(){return 1},null,{n:0,get length(){return this.n++?4e9:1}})
Reflect.construct(Array,{n:0,get length(){return this.n++?4e9:1}})
Math.max.apply(null,{n:0,get length(){return this.n++?4e9:1}})
"x".repeat({n:0,valueOf:function(){return this.n++?4e9:1}})
"xxxxxxxx".repeat({n:0,valueOf:function(){return this.n++?2e9:1}})
"a".repeat(1e6).replace(/a/g,{n:0,toString:function(){return this.n++?"b".repeat(4e6):"b"}})
/a/g[Symbol.replace]("a".repeat(1e6),"b".repeat(4e6))
/a/g[Symbol.replace]({n:0,toString:function(){return "a".repeat(4e6)}},{toString:function(){return "b".repeat(4e6)}})
(function(){}).constructor("return 7n**99999999n")()
(function(){}).constructor("return 7n**9999999n**2n")()
(function(){}).constructor("var x=3n;while(true)x=x*x;return 1")()
(function(){}).constructor("return 1n<<4000000000n")()
(function(){}).constructor("return (1n<<400000000n).toString()")()
(function*(){}).constructor("yield 7n**99999999n")().next()
(async function(){}).constructor("return 7n**99999999n")()
(()=>1).constructor("return 2n**(2n**31n)")()
Function("a","return 7n**99999999n")(1)
Function("a=7n**99999999n","return a")()
eval("(function(){return 7n**99999999n})()")
[1].map(eval.bind(null,"while(true){}"))
(0,eval)("for(;;){}")
[..."a".repeat(4000000)]
[..."a".repeat(4000000).matchAll(/a/g)]
"\uFDFA".repeat(4000000).normalize("NFKD")
"\uFDFA".repeat(4000000).normalize("NFKC").normalize("NFD").length
Array.prototype.indexOf.call({get length(){return 9007199254740991}},1)
Array.prototype.includes.call({get length(){return 9007199254740991}},1)
Array.prototype.lastIndexOf.call({n:0,get length(){return this.n++?9007199254740991:1}},1)
Array.prototype.indexOf.call({n:0,get length(){return this.n++?9007199254740991:1}},1)
Array.prototype.includes.call({n:0,get length(){return this.n++?9007199254740991:1}},1)
Array.prototype.reverse.call({n:0,get length(){return this.n++?9007199254740991:1}})
Array.prototype.fill.call({n:0,get length(){return this.n++?9007199254740991:1}},1)
Array.prototype.join.call({n:0,get length(){return this.n++?4294967295:1}},"xxxxxxxx")
Array.prototype.sort.call({n:0,get length(){return this.n++?4294967295:1}})
Array.prototype.concat.call([],{[Symbol.isConcatSpreadable]:true,n:0,get length(){return this.n++?4294967295:1}})
Array.prototype.splice.call({n:0,get length(){return this.n++?9007199254740990:1}},0,1)
Array.prototype.unshift.call({n:0,get length(){return this.n++?9007199254740990:1}},1)
Array.prototype.flat.call({n:0,get length(){return this.n++?9007199254740990:1}})
Array.prototype.copyWithin.call({n:0,get length(){return this.n++?9007199254740990:1}},0,1)
Array.prototype.slice.call({n:0,get length(){return this.n++?4294967295:1}})
Array.prototype.at.call({get length(){for(;;){}}},0)
Array.from({n:0,get length(){return this.n++?4e9:1}})
Array.from({length:4e9},function(){return 1})
Array.from(new Proxy({},{get:function(t,k){return k==="length"?4e9:1}}))
[].concat({[Symbol.isConcatSpreadable]:true,length:4e9})
[].concat(new Proxy([],{get:function(t,k){return k==="length"?4e9:k===Symbol.isConcatSpreadable?true:1},has:function(){return true}}))
"a".repeat(4000000).split(/(?:)/)
"a".repeat(4000000).split("").map(function(c){return c+c})
"a".repeat(4000000).match(/a/g)
"a".repeat(4000000).match(/a|(?=b)c/g).length
"a".repeat(4000000).replace(/(?=a)/g,"$'")
(function(){while(true){}})()
(function(){for(;;){try{for(;;){}}catch(e){}finally{continue}}})()
(function(){do{var x=1}while(x)})()
(function(){a:for(;;){b:for(;;){continue a}}})()
(function(){for(var i=0;;i++){try{throw i}catch(e){}}})()
(function(){with({get x(){for(;;){}}}){return x}})()
(function(){var s="x";while(1)s+=s})()
(function(){var s="x";for(;;)s=s+s+s+s})()
(function(){var a=[];for(;;)a.push({})})()
(function(){var a=[];for(;;)a.push("x".repeat(4e6)+a.length)})()
(function(){var a={};for(var i=0;;i++)a["k"+i]=i})()
(function(){var m=new Map;for(var i=0;;i++)m.set(i,[i])})()
(function(){var m=new Set;for(var i=0;;i++)m.add("s"+i)})()
(function(){var m=new WeakMap;for(;;)m.set({},{})})()
(function(){var a=[];for(;;){a=[a,a,a]}})()
(function(){var a=[];for(;;)a.push(new Date)})()
(function(){var a=[];for(;;)a.push(function(){return a})})()
(function(){var a=[];for(;;)a.push(Symbol("x".repeat(1e5)+a.length))})()
(function(){var a=[];for(;;)a.push(new Error("x".repeat(1e5)+a.length))})()
(function(){var a=[];for(;;)a.push(new RegExp("a"+a.length))})()
(function(){var o={};for(;;)o=Object.create(o)})()
(function(){var o=function(){};for(;;)o=o.bind(null)})()
(function(){var o=function(){};for(var i=0;i<1e6;i++)o=o.bind(null);return o()})()
(function(){var o={};for(var i=0;i<1e6;i++)o=new Proxy(o,{});return o.x})()
(function(){var o=null;for(var i=0;i<3e6;i++)o={o:o};return JSON.stringify(o)})()
(function f(){return f()})()
(function f(){return [1].map(f)})()
(function f(){return JSON.stringify({toJSON:f})})()
(function f(){return "a".replace(/a/,f)})()
(function f(){return new f})()
(function f(){return eval("f()")})()
(function f(){return [2,1].sort(f)})()
(function f(){return Reflect.apply(f,null,[])})()
({toString:function(){return ""+this}})+""
({get a(){return this.a}}).a
new Proxy({},{get:function(t,k,r){return r[k]}}).x
new Proxy({},{ownKeys:function(){for(;;){}}})
JSON.stringify(new Proxy({},{ownKeys:function(){return Array(1e7).fill("a")},getOwnPropertyDescriptor:function(){return {value:1,enumerable:true,configurable:true}}}))
JSON.stringify({toJSON:function(){for(;;){}}})
JSON.stringify([1],function(){for(;;){}})
JSON.stringify((function(){var a=[1];for(var i=0;i<60;i++)a=[a,a];return a})())
JSON.parse("[1,2]",function(k,v){for(;;){}})
JSON.parse("["+"1,".repeat(2e6)+"1]")
JSON.parse('"'+"\\u0041".repeat(600000)+'"').repeat(100)
JSON.parse("[".repeat(400)+"]".repeat(400),function(k,v){return [v,v]})
[3,2,1].sort(function(){for(;;){}})
Array(1e5).fill(1).sort(function(a,b){return Math.random()-0.5})
Array(99999).fill(0).map(Math.random).sort(function(){return 1}).sort(function(){return -1}).length
/(a+)+$/.test("a".repeat(40)+"!")
/^(?=a)(a+)+$/.test("a".repeat(40)+"b!")
/(a+)+\1$/.test("a".repeat(40)+"b!")
/(?<x>a+)+\k<x>$/.test("a".repeat(40)+"b!")
/(?<=(a+)+)b$/.test("a".repeat(60)+"c")
/^(([a-z])+.)+[A-Z]([a-z])+$/.test("a".repeat(60))
/(.*)*\1x/y.exec("a".repeat(5000))
new RegExp("(".repeat(4000)+")".repeat(4000)).test("a")
new RegExp("a{1000}{1000}{1000}").test("a")
new RegExp("(?:a{0,1000}){0,1000}{0,1000}b").test("a".repeat(3000))
new RegExp({toString:function(){return "(a+)+".repeat(1e6)}})
"a".repeat(1e6).search(/(a*)*(a*)*b/)
"a".repeat(2e6).replace(/a(?=.*b)/g,"x")
"x".padEnd({n:0,valueOf:function(){return this.n++?4e9:1}})
"x".padStart({n:0,valueOf:function(){return this.n++?4e9:1}},"ab")
"x".repeat(4e6).padEnd(4e6,"y").concat("z".repeat(4e6)).split("").join("longer")
"a".repeat(4e6).toUpperCase().toLowerCase().localeCompare("a".repeat(4e6-1)+"b")
"\u0130".repeat(4e6).toLowerCase().normalize("NFKD").length
["\uFDFA".repeat(1e6),"\uFDFB".repeat(1e6)].sort(function(a,b){return a.localeCompare(b)})
String.raw({raw:{n:0,get length(){return this.n++?4e9:4e9}}},1)
String.fromCharCode.apply(null,{n:0,get length(){return this.n++?4e8:1}})
Object.assign({},"a".repeat(4e6))
Object.entries("a".repeat(4e6)).map(String).join()
Object.fromEntries({[Symbol.iterator]:function(){return {next:function(){return {done:false,value:[Math.random(),1]}}}}})
[...{[Symbol.iterator]:function(){return {next:function(){return {done:false,value:1}}}}}]
[...(function*(){for(;;)yield 1})()]
(function(){var [...a]=(function*(){for(;;)yield "x"})();return a})()
Math.max(...{[Symbol.iterator]:function(){return {next:function(){return {done:false,value:1}}}}})
new Set({[Symbol.iterator]:function(){return {next:function(){return {done:false,value:{}}}}}})
new Map((function*(){for(var i=0;;i++)yield [i,i]})())
Promise.all((function*(){for(;;)yield 1})())
(async function f(){await 0;return f()})()
(async function(){for(;;)await 0})()
(function(){var p=Promise.resolve();(function f(){p.then(f)})()})()
(function(){class A extends Array{static get [Symbol.species](){return function(){for(;;){}}}}return new A(1,2,3).map(String)})()
(function(){class A extends Array{static get [Symbol.species](){return function(n){return Array(4e9)}}}return new A(1,2,3).map(String)})()
(function(){class R extends RegExp{exec(){for(;;){}}}return "a".replace(new R("a"),"b")})()
(function(){class R extends RegExp{exec(){return {index:0,length:1,0:""}}}return "aa".replace(new R("a","g"),"b")})()
(function(){var r=/a/g;r.exec=function(){return [""]};return "aa".match(r)})()
(function(){var r=/a/g;Object.defineProperty(r,"flags",{get:function(){for(;;){}}});return "aa".replaceAll(r,"b")})()
(function(){throw {toString:function(){for(;;){}}}})()
(function(){throw {toString:function(){return "x".repeat(4e6)}}})()
(function(){throw {get message(){for(;;){}},get name(){for(;;){}},get stack(){for(;;){}}}})()
(function(){throw new Proxy({},{get:function(){for(;;){}}})})()
(function(){var e=new Error("x");e.name={toString:function(){for(;;){}}};throw e})()
(function(){for(;;)print("x".repeat(1e6))})()
(function(){print({toString:function(){for(;;){}}})})()
print.apply(null,{length:4e9})
(function(){__p={toString:function(){for(;;){}}}})()
(function(){__j=function(){for(;;){}};print(1)})()
(function(){Array.prototype.join=function(){for(;;){}};return [1]+""})()
(function(){Object.prototype.toJSON=function(){for(;;){}};return {}})()
(function(){String.prototype.toString=function(){for(;;){}};return new String("a")})()
moment().format("YYYY".repeat(1e6))
moment("9".repeat(1e6),"Y".repeat(1e6)).format()
moment().format({toString:function(){for(;;){}}})
moment({get year(){for(;;){}}}).format()
(function(){var m=moment();for(;;)m.add(1,"day")})()
(function(){var a=[];for(;;)a.push(moment())})()
moment.duration({valueOf:function(){for(;;){}}}).humanize()
moment("2020-01-01",Array(99999).fill("YYYY-MM-DD")).format()
new Date({valueOf:function(){for(;;){}}})
new Date(...Array(1e5).fill({valueOf:function(){for(;;){}}}))
Date.parse("(".repeat(4e6))
Date.parse("1".repeat(4e6)+"(a".repeat(1e6))
new Date(0).toLocaleString({get length(){for(;;){}}})
(function(){var d=new Date(0);for(;;)d.setDate(d.getDate()+1)})()
Number("9".repeat(4e6))+parseInt("9".repeat(4e6),36)+parseFloat("0."+"1".repeat(4e6))
(123.456).toString(36).repeat(1e5).split("").sort().join("")
encodeURIComponent("\u20ac".repeat(4e6)).length
escape("\u20ac".repeat(4e6)).length+unescape("%u20ac".repeat(6e5)).length
new (class{constructor(){return new this.constructor}})()
(function(){var o={};Object.defineProperty(o,"x",{get:function(){return o.x+o.x}});return o.x})()
(function(){var f=function(n){return n?f(n-1)+f(n-1):1};return f(60)})()
(function(){var g=(function*(){yield* g2()})();function* g2(){for(;;)yield* [1]};var a=[];for(var x of g)a.push(x)})()
(function(){var t=(function(s){for(;;){}});return t` + "`${1}`" + `})()
new Uint8Array(4e9)
new ArrayBuffer(4e9)
new SharedArrayBuffer(4e9)
(function(){var a=[];for(;;)a.push(new Float64Array(1e6))})()
Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())).constructor
Atomics.wait(new Int32Array(new SharedArrayBuffer(4)),0,0)
`

// exprNested returns expressions whose text is too long to be written here.
func exprNested() []string {
	return []string{
		strings.Repeat("(", 1e5) + "1" + strings.Repeat(")", 1e5),
		strings.Repeat("[", 60000) + strings.Repeat("]", 60000),
		strings.Repeat("!", 120000) + "1",
		strings.Repeat("-1+", 40000) + "1",
		"1" + strings.Repeat("+1", 6e4),
		strings.Repeat("a?a:", 3e4) + "1",
		strings.Repeat("x=>", 4e4) + "1",
		strings.Repeat("new ", 3e4) + "Date",
		"`" + strings.Repeat("a", 100000) + "`.repeat(40).split('').join('bbbbbbbbbb')",
		"/" + strings.Repeat("(a|", 300) + "b" + strings.Repeat(")*", 300) + "c/.test('a'.repeat(200))",
	}
}
