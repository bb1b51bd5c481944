package operators

import "zerodag/engine/param"

// Do reads the sub-tasks of a loop; they are required and stay unevaluated.
func (p *Params) Do() (*param.Map, error) { return Read(p, "_do", param.AsMap) }

// WithExport returns a copy of the sub-tasks do whose `_export` has more variables.
func WithExport(do, export *param.Map) (*param.Map, error) {
	vars := param.New()
	if v, ok := do.Get("_export"); ok && v != nil {
		own, err := param.AsMap("_export", v)
		if err != nil {
			return nil, err
		}
		vars = own.Clone()
	}
	for k, v := range export.All() {
		vars.Set(k, v)
	}
	out := do.Clone()
	out.Set("_export", vars)
	return out, nil
}

// CopyParallel puts the `_parallel` of the task into the group that it generates
// (spec language.md 1.8). The owner of group is the caller.
func (p *Params) CopyParallel(group *param.Map) error {
	v, ok := p.Get("_parallel")
	if !ok || v == nil {
		return nil
	}
	switch x := v.(type) {
	case bool, string:
		on, err := param.AsBool("_parallel", x)
		if on {
			group.Set("_parallel", true)
		}
		return err
	case *param.Map:
		limit, err := Read(NewParams(x), "limit", param.AsInt)
		if err != nil {
			return err
		}
		group.Set("_parallel", parallelOf(limit))
		return nil
	}
	return param.Errorf("Invalid _parallel format: %s", param.Text(v))
}

func parallelOf(limit int64) param.Value {
	if limit > 0 {
		return param.New("limit", limit)
	}
	return true
}
