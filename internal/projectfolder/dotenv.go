package projectfolder

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"zerodag/engine/dig"
	"zerodag/engine/param"
)

// dotEnv is the file in which other programs store variables. zerodag does not read it unless --env-file names it.
const dotEnv = ".env"

// mostScripts is how many files of a project are searched for variables from .env.
const mostScripts = 200

// dotEnvLine is a variable in such a file.
var dotEnvLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=`) })

// UnreadDotEnv returns a warning if the folder's .env file sets a variable that its files use but no command gets.
// given holds the run's parameters.
func (f Folder) UnreadDotEnv(given *param.Map) dig.Errors {
	text, err := readSmall(filepath.Join(f.Root(), dotEnv))
	if err != nil {
		return nil //nolint:nilerr // if the file is missing or cannot be read, there is nothing to report
	}
	var names []string
	for _, m := range dotEnvLine().FindAllStringSubmatch(text, -1) {
		if _, isSet := os.LookupEnv(m[1]); !isSet && !given.Has(m[1]) && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	if len(names) == 0 {
		return nil
	}
	all, err := f.List()
	if err != nil {
		return nil //nolint:nilerr // the code that reads the project reports the problem
	}
	if name := f.firstUsed(all, names); name != "" {
		return dig.Errors{{File: dotEnv, Message: "commands do not get " + name + " because this file is not read", Hint: "add `--env-file " + dotEnv + "`"}}
	}
	return nil
}

// firstUsed returns the first of these variables that a file of the project uses and no file sets, or "" if there is
// none or the project reads .env itself.
func (f Folder) firstUsed(all, names []string) string {
	used, own := map[string]bool{}, map[string]bool{}
	read := 0
	for _, file := range all {
		ext := path.Ext(file)
		if !slices.Contains([]string{".dig", ".sh", ".bash", ".py", ".rb", ".js"}, ext) || read == mostScripts {
			continue
		}
		read++
		text, err := readSmall(filepath.Join(f.Root(), filepath.FromSlash(file)))
		if err != nil {
			continue
		}
		if strings.Contains(text, "dotenv") || strings.Contains(text, dotEnv) {
			return ""
		}
		for _, name := range names {
			used[name] = used[name] || usesVariable(ext, name, text)
			own[name] = own[name] || regexp.MustCompile(`\b`+name+`(?:=|["']?\s*:)`).MatchString(text)
		}
	}
	for _, name := range names {
		if used[name] && !own[name] {
			return name
		}
	}
	return ""
}

// usesVariable reports whether a file uses an environment variable.
func usesVariable(ext, name, text string) bool {
	form := `\$` + name + `\b|\$\{` + name + `[}:]`
	switch ext {
	case ".dig":
		form = `\$` + name + `\b`
	case ".py", ".rb", ".js":
		form = `(?:environ|getenv|env|ENV)[\w.]*(?:\.|[\[(]\s*["'])` + name + `\b`
	}
	return regexp.MustCompile(form).MatchString(text)
}

func readSmall(name string) (string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > mostOfFile {
		return "", os.ErrInvalid
	}
	text, err := os.ReadFile(name)
	return string(text), err
}
