package param

// Use is what an expression does with a parameter whose outcome depends on the parameter's type.
type Use struct {
	Kind  UseKind
	Name  string
	Other string   // the name that it is compared with
	Path  []string // the property that is read, from the parameter down
	Tried bool     // the expression says what follows if there is no such property, as in `a.b || 'x'`
	Says  string   // of a Mistake: what it is
	Hint  string   // what helps
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
	Mistake  UseKind = "?"  // what is no use of a parameter, and hardly meant
)
