package script

import (
	"math"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"zerodag/engine/expr"
)

const (
	maxText   = 4 << 20 // bytes of one JSON value
	maxLevels = 500     // of nesting in it
)

// stringify is JSON.stringify with limits of length and depth: values that occur many times in a small graph can
// produce output of any size.
type stringify struct {
	x        *script
	out      []byte
	replacer goja.Callable
	keys     []string // the only keys to write, if onlyKeys
	onlyKeys bool
	gap      string
	stack    []*goja.Object
}

func (x *script) stringify(call goja.FunctionCall) goja.Value {
	s := &stringify{x: x}
	s.readReplacer(call.Argument(1))
	s.readGap(call.Argument(2))
	holder := x.rt.NewObject()
	if s.replacer != nil {
		_ = holder.Set("", call.Argument(0))
	}
	if !s.write(holder, "", call.Argument(0), "") {
		return goja.Undefined()
	}
	return x.rt.ToValue(string(s.out))
}

func (s *stringify) readReplacer(v goja.Value) {
	if f, ok := goja.AssertFunction(v); ok {
		s.replacer = f
		return
	}
	list, ok := v.(*goja.Object)
	if !ok || list.ClassName() != "Array" {
		return
	}
	s.onlyKeys = true
	for i := range int(min(list.Get("length").ToInteger(), maxLevels*maxLevels)) {
		if item := list.Get(strconv.Itoa(i)); item != nil {
			s.keys = append(s.keys, item.String())
		}
	}
}

func (s *stringify) readGap(v goja.Value) {
	switch x := v.Export().(type) {
	case int64:
		s.gap = strings.Repeat(" ", int(max(0, min(10, x))))
	case float64:
		s.gap = strings.Repeat(" ", int(max(0, min(10, x))))
	case string:
		s.gap = string([]rune(x)[:min(10, len([]rune(x)))])
	}
}

// write appends the value under key of holder; false if JSON omits it.
func (s *stringify) write(holder *goja.Object, key string, v goja.Value, indent string) bool {
	if o, ok := v.(*goja.Object); ok {
		if f, ok := goja.AssertFunction(o.Get("toJSON")); ok {
			v = s.must(f(o, s.x.rt.ToValue(key)))
		}
	}
	if s.replacer != nil {
		v = s.must(s.replacer(holder, s.x.rt.ToValue(key), v))
	}
	o, isObject := v.(*goja.Object)
	if isObject {
		v, isObject = s.unbox(o)
	}
	switch {
	case v == nil || goja.IsUndefined(v):
		return false
	case goja.IsNull(v):
		s.text("null")
	case isObject:
		return s.object(o, indent)
	default:
		return s.primitive(v)
	}
	return true
}

// unbox converts `new String(..)` and the like to plain values.
func (s *stringify) unbox(o *goja.Object) (goja.Value, bool) {
	switch o.ClassName() {
	case "Number":
		return s.x.rt.ToValue(o.ToFloat()), false
	case "String":
		return s.x.rt.ToValue(o.String()), false
	case "Boolean":
		return s.x.rt.ToValue(o.String() == "true"), false
	}
	return o, true
}

func (s *stringify) primitive(v goja.Value) bool {
	switch x := v.Export().(type) {
	case bool:
		s.text(strconv.FormatBool(x))
	case int64:
		s.text(string(expr.AppendNumber(nil, x)))
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			s.text("null")
			break
		}
		s.text(string(expr.AppendNumber(nil, x)))
	case string:
		s.quoted(x)
	default:
		return false // a symbol
	}
	return true
}

func (s *stringify) object(o *goja.Object, indent string) bool {
	if _, ok := goja.AssertFunction(o); ok {
		return false
	}
	for _, above := range s.stack {
		if above.SameAs(o) {
			panic(s.x.rt.NewTypeError("Converting circular structure to JSON"))
		}
	}
	if len(s.stack) >= maxLevels {
		panic(s.x.rt.NewTypeError("the value is nested too deeply for JSON"))
	}
	s.stack = append(s.stack, o)
	if o.ClassName() == "Array" {
		s.list(o, indent)
	} else {
		s.mapping(o, indent)
	}
	s.stack = s.stack[:len(s.stack)-1]
	return true
}

func (s *stringify) list(o *goja.Object, outer string) {
	indent := outer + s.gap
	n := o.Get("length").ToInteger()
	s.text("[")
	for i := range n {
		s.separate(i == 0, indent)
		key := strconv.FormatInt(i, 10)
		if !s.write(o, key, o.Get(key), indent) {
			s.text("null")
		}
	}
	s.close("]", n == 0, outer)
}

func (s *stringify) mapping(o *goja.Object, outer string) {
	keys := s.keys
	if !s.onlyKeys {
		keys = o.Keys()
	}
	indent := outer + s.gap
	empty := true
	s.text("{")
	for _, key := range keys {
		v := o.Get(key)
		if v == nil {
			continue
		}
		before := len(s.out)
		s.separate(empty, indent)
		s.quoted(key)
		s.text(":")
		if s.gap != "" {
			s.text(" ")
		}
		if s.write(o, key, v, indent) {
			empty = false
			continue
		}
		s.out = s.out[:before]
	}
	s.close("}", empty, outer)
}

func (s *stringify) separate(first bool, indent string) {
	if !first {
		s.text(",")
	}
	if s.gap != "" {
		s.text("\n" + indent)
	}
}

func (s *stringify) close(bracket string, empty bool, indent string) {
	if s.gap != "" && !empty {
		s.text("\n" + indent)
	}
	s.text(bracket)
}

func (s *stringify) text(text string) {
	if len(s.out)+len(text) > maxText {
		panic(s.x.rt.NewTypeError("the JSON text would be too long for an expression"))
	}
	s.out = append(s.out, text...)
}

func (s *stringify) quoted(text string) {
	b, _ := expr.AppendString(nil, strings.ToValidUTF8(text, "\uFFFD"))
	s.text(string(b))
}

// must rethrows an exception thrown by one of the script's functions.
func (s *stringify) must(v goja.Value, err error) goja.Value {
	if err != nil {
		panic(err)
	}
	return v
}
