package keys

import (
	"path"
	"strings"

	"zerodag/engine/dig/rule"
	"zerodag/engine/param"
)

// EnvFilesKey names files with variables for a task's commands, or for the commands of all tasks below a group.
const EnvFilesKey = "_env_files"

// MaxEnvFile is the maximum size of a variable file in bytes: commands accept little more on any system.
const MaxEnvFile = 64 << 10

// EnvFile is a file of variables named by `_env_files`.
type EnvFile struct {
	Name     string // slash path, relative to the project's folder
	Optional bool   // it may be missing
}

const envFilesForm = "write names of project files: `_env_files: [env/common, 'env/${stage}', 'env/local?']`; a file whose name ends with ? may be missing"

func envFilesKey() Key {
	return Key{
		Name: EnvFilesKey, Where: AtTop | AtGroup | AtTask,
		Doc:   "project files with environment variables",
		Check: checkEnvFiles,
		Schema: func(rule.Meaning) rule.Schema {
			return rule.Schema{"type": []any{"string", "array"}, "items": rule.Schema{"type": "string"}}
		},
	}
}

// ParseEnvFiles reads an evaluated `_env_files`.
func ParseEnvFiles(v param.Value) (files []EnvFile, err error) {
	for _, v := range ListOf(v) {
		f, fault, _ := EnvFileOf(v, false)
		if fault != "" {
			return nil, param.Errorf("%s: %s", EnvFilesKey, fault)
		}
		files = append(files, f)
	}
	return files, nil
}

// ListOf returns a value as a list: a list unchanged, nil for nil, otherwise a list with only that value.
func ListOf(v param.Value) []param.Value {
	switch x := v.(type) {
	case nil:
		return nil
	case []param.Value:
		return x
	}
	return []param.Value{v}
}

// checkEnvFiles requires names of files that a push includes.
func checkEnvFiles(key string, v param.Value, report rule.Report) {
	list := ListOf(v)
	if len(list) == 0 {
		report(nil, "'"+key+"' does not name a file", envFilesForm)
	}
	for _, v := range list {
		if _, fault, hint := EnvFileOf(v, true); fault != "" {
			report(nil, fault, hint)
			return
		}
	}
}

// EnvFileOf reads one name; if open, `${...}` may stand for anything.
func EnvFileOf(v param.Value, open bool) (f EnvFile, fault, hint string) {
	text, ok := v.(string)
	f.Name, f.Optional = strings.CutSuffix(text, "?")
	switch {
	case !ok || f.Name == "":
		return f, "an environment file needs a name: " + param.Sample(v), envFilesForm
	case open && strings.Contains(text, "${"):
		return f, "", ""
	case path.IsAbs(f.Name) || strings.Contains(f.Name, "\\"):
		return f, "an environment file must be a project file: " + param.Sample(v), envFilesForm
	}
	f.Name = path.Clean(f.Name)
	for part := range strings.SplitSeq(f.Name, "/") {
		switch {
		case part == ".." || f.Name == ".":
			return f, "an environment file must be a project file: " + param.Sample(v), envFilesForm
		case strings.HasPrefix(part, "."):
			return f, "files whose names begin with a dot are never pushed: " + param.Sample(v), "rename it, or pass it to `zerodag run --env-file " + f.Name + "`"
		}
	}
	return f, "", ""
}
