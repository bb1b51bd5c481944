package param

// Use is an operation of an expression on a parameter whose outcome depends on the parameter's type.
type Use struct {
	Kind  UseKind
	Name  string
	Other string   // the name that it is compared with
	Path  []string // the property that is read, starting at the parameter
	Tried bool     // the expression handles a missing property, as in `a.b || 'x'`
	Says  string   // of a Mistake: its description
	Hint  string   // how to fix it
}

// UseKind is one of the kinds below.
type UseKind string

// The kinds of uses.
const (
	Negated  UseKind = "!"  // !name
	Both     UseKind = "&&" // name && ...
	Added    UseKind = "+"  // name + 1
	Compared UseKind = "<"  // name < other, and the like
	Property UseKind = "."  // name.path
	Minus    UseKind = "-"  // name - other, of two or more names
	Exactly  UseKind = "="  // name === 1
	Written  UseKind = "''" // name == 'other'
	Within   UseKind = "in" // 'x' in name
	Assigned UseKind = ":=" // name = ...
	Mistake  UseKind = "?"  // not a use of a parameter, but probably unintended
)
