package td

import (
	"zerodag/engine/param"
	"zerodag/operators"
)

// withSecrets replaces `${secret:key}` in all strings in a tree. source is the text from which the tree was parsed, ""
// for parameters.
func withSecrets(t *operators.Task, v param.Value, source string) (param.Value, error) {
	switch x := v.(type) {
	case string:
		if source == "" {
			return t.SecretText(x)
		}
		return t.SecretPart(source, x)
	case *param.Map:
		out := param.New()
		for k, e := range x.All() {
			key, err := withSecrets(t, k, source)
			if err != nil {
				return nil, err
			}
			if e, err = withSecrets(t, e, source); err != nil {
				return nil, err
			}
			out.Set(key.(string), e)
		}
		return out, nil
	case []param.Value:
		out := make([]param.Value, len(x))
		for i := range x {
			var err error
			if out[i], err = withSecrets(t, x[i], source); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v, nil
}
