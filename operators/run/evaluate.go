package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/operators"
)

// envFiles returns the variable files named by the task and the groups around it.
func (j *Job) envFiles() []param.Value {
	files := slices.Clone(j.EnvFiles)
	if j.Level > 0 {
		v, _ := j.Own.Get(operators.EnvFilesKey)
		files = append(files, keys.ListOf(v)...)
	}
	return files
}

// given returns the keys that have a value.
func given(all *param.Map, names []string) *param.Map {
	some := param.New()
	for _, k := range names {
		if v, ok := all.Get(k); ok && v != nil {
			some.Set(k, v)
		}
	}
	return some
}

// withCommand adds the operator and its command under the names by which operators read them.
func withCommand(all *param.Map) (*param.Map, error) {
	name, key, err := operatorOf(all)
	if err != nil || key == "" {
		return all, err
	}
	command, _ := all.Get(key)
	all = all.Clone()
	all.Set("_type", name)
	if command != nil { // `op>:` without a value has no command
		all.Set("_command", command)
	}
	return all, nil
}

// evaluate fills in Params, Local and Template (language.md 1.7).
func (j *Job) evaluate(ctx context.Context, e Evaluator) error {
	vars := j.seen()
	own := j.Own.Without(append(j.steering(), "_export")...)
	if j.Env.Len() > 0 {
		own = param.Merge(own, param.New("_env", param.Merge(j.Env, own.Map("_env"))))
	}
	files := j.envFiles()
	if len(files) > 0 {
		own = param.Merge(own, param.New(operators.EnvFilesKey, files))
	}
	bodies := branches(own)
	if bodies != nil {
		own = own.Without(bodies.Keys()...)
	}
	refs := j.refer(own)
	all, err := e.Eval(ctx, param.Merge(vars, own), vars, j.Scope)
	if err != nil {
		return err
	}
	if bodies != nil {
		all, own = param.Merge(all, bodies), param.Merge(own, bodies)
	}
	if len(files) > 0 {
		v, _ := all.Get(operators.EnvFilesKey)
		if j.VariableFiles, err = keys.ParseEnvFiles(v); err != nil {
			return err
		}
		all, own = all.Without(operators.EnvFilesKey), own.Without(operators.EnvFilesKey)
	}
	if j.State == nil {
		j.State = param.New()
	}
	if all, err = withCommand(all); err != nil {
		return err
	}
	marked := all // files see the parameters with their marks
	if refs != nil {
		all = refs.cleanMap(all)
	}
	local := given(all, own.Keys())
	if err := j.refuseInvalidDates(own, local); err != nil {
		return err
	}
	j.Local, j.all = local, all
	j.Params = operators.NewParams(all)
	j.Template = func(text string) (string, error) {
		result, err := e.Template(ctx, text, marked, j.Scope)
		if refs != nil {
			result = refs.cleanText(result)
		}
		return result, err
	}
	return nil
}

// invalidDate is moment's result for text that it cannot read as a date.
const invalidDate = "Invalid date"

// refuseInvalidDates fails a task if moment could not parse a date in one of the task's values; a task in a file
// without `zerodag: 1` runs with a warning in its log, as in Digdag.
func (j *Job) refuseInvalidDates(written, evaluated *param.Map) error {
	for key, v := range evaluated.All() {
		if was, _ := written.Get(key); !mentions(v, invalidDate) || mentions(was, invalidDate) || !mentions(was, "moment(") {
			continue // passes on text that merely contains the words
		}
		const why = "'%s' has a date that moment cannot parse (Invalid date): pass its format, as in moment(text, 'DD.MM.YYYY')"
		if j.Level > 0 {
			return param.Errorf(why, key)
		}
		j.Log.Line(operators.Warn, "OperatorManager", fmt.Sprintf(why, key))
	}
	return nil
}

// mentions reports whether a string within a value contains another.
func mentions(v param.Value, text string) bool {
	return param.AnyText(v, func(within string) bool { return strings.Contains(within, text) })
}

// refer makes evaluation mark the references to secrets that users wrote. It returns nil if everything that looks like
// a reference is one.
func (j *Job) refer(own *param.Map) *references {
	if j.EvalStored {
		return nil
	}
	refs := newReferences()
	refs.knowKeys(own)
	j.References, j.Scope.Mark = refs, refs.mark
	return refs
}

// operatorOf finds the operator in evaluated parameters: `_type`, or else the first key that ends in ">", which it also
// returns.
func operatorOf(all *param.Map) (name, key string, err error) {
	if all.Has("_type") {
		name, err = operators.NewParams(all).String("_type")
		return name, "", err
	}
	for _, k := range all.Keys() {
		if strings.HasSuffix(k, ">") {
			return k[:len(k)-1], k, nil
		}
	}
	return "", "", nil
}
