package operators

import "zerodag/engine/param"

// Do reads a loop's subtasks; they are required and stay unevaluated.
func (p *Params) Do() (*param.Map, error) {
	v, ok := p.Get("_do")
	if !ok {
		return nil, param.Errorf("Parameter '_do' is required but not set")
	}
	return param.AsMap("_do", v)
}

// WithExport returns a copy of the subtasks do with additional variables in `_export`. Their values are data, since
// they were already evaluated.
func WithExport(do, export *param.Map) (*param.Map, error) {
	vars := param.New()
	if v, ok := do.Get("_export"); ok && v != nil {
		own, err := param.AsMap("_export", v)
		if err != nil {
			return nil, err
		}
		vars = own.Clone()
	}
	for k, v := range param.DataMap(export).All() {
		vars.Set(k, v)
	}
	out := do.Clone()
	out.Set("_export", vars)
	return out, nil
}

// Group returns a loop's result: the group of its subtasks, with the task's `_parallel` (language.md 1.8). The caller
// owns group.
func (p *Params) Group(group *param.Map) (Result, error) {
	parallel, err := p.parallel()
	if err != nil {
		return Result{}, err
	}
	if parallel != nil {
		group.Set("_parallel", parallel)
	}
	if group.Len() == 0 {
		return Result{}, nil
	}
	return Result{Subtasks: group}, nil
}

// parallel returns `_parallel` for a group, nil for none: the task's value, unchanged, after validation.
func (p *Params) parallel() (param.Value, error) {
	v, ok := p.Get("_parallel")
	if !ok {
		return nil, nil
	}
	switch x := v.(type) {
	case bool, string:
		on, err := param.AsBool("_parallel", x)
		if !on {
			return nil, err
		}
		return v, nil
	case *param.Map:
		_, err := Read(NewParams(x), "limit", param.AsInt)
		return v, err
	}
	return nil, param.Errorf("Invalid _parallel format: %s", param.Text(v))
}
