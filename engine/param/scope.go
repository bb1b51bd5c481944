package param

// Scope is what one place sees of the mappings around it: inner mappings hide outer ones, name by name. A nil Scope
// sees nothing. It shares the mappings, so a scope for each of many tasks costs next to nothing.
type Scope struct {
	above *Scope
	own   *Map
}

// Within returns the scope of a place below s that also has its own mapping.
func (s *Scope) Within(own *Map) *Scope {
	if own.Len() == 0 {
		return s
	}
	return &Scope{s, own}
}

// Get returns the value of a name, and whether it has one.
func (s *Scope) Get(name string) (Value, bool) {
	for ; s != nil; s = s.above {
		if v, there := s.own.Get(name); there {
			return v, true
		}
	}
	return nil, false
}

// Has reports whether a name has a value.
func (s *Scope) Has(name string) bool {
	_, there := s.Get(name)
	return there
}

// Value returns a name's value; nil if it has none.
func (s *Scope) Value(name string) Value {
	v, _ := s.Get(name)
	return v
}

// Map returns a name's value if it is a mapping; nil if it is something else.
func (s *Scope) Map(name string) *Map {
	m, _ := s.Value(name).(*Map)
	return m
}
