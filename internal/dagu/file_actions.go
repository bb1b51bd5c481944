package dagu

import (
	"path"
	"regexp"
	"strings"
	"sync"

	"zerodag/engine/param"
)

// given returns a text of `with` as a word of a shell. Dagu replaces the references in it, unless they are between single quotes.
func (s *step) given(key string) string {
	with := s.with()
	v, _ := with.Get(key)
	text, isText := v.(string)
	if !isText {
		s.refuse(with, key, "write a text", "%s of a step of type %s is no text", key, text1(s.Map, "type"))
	}
	if !s.today && quotedVariable().MatchString(text) || strings.Contains(text, `\$`) {
		s.refuse(with, key, "write the file with a command", "a variable in quotes or after a backslash is not taken over in %s", key)
	}
	if !reference().MatchString(text) {
		return literal(shellWord(text))
	}
	name := "WITH_" + strings.ToUpper(key)
	s.extra.Set(name, s.plain(with, key, text))
	return `"$` + name + `"`
}

// quotedVariable matches a variable between single quotes.
var quotedVariable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`'[^'\n]*\$(\{[A-Za-z0-9_:=+?-]*\}|[A-Za-z_])[^'\n]*'`)
})

// file returns lines of a shell that set the variable `file` to an absolute path.
func (s *step) file() string {
	text := strings.TrimSpace(text1(s.with(), "path"))
	switch {
	case text == "" || strings.HasPrefix(text, "~") || strings.ContainsAny(text, "\"\\\n"):
		s.refuse(s.with(), "path", "write the path without ~, quotes and backslashes", "the path of a file is not taken over: %s", text)
	case !reference().MatchString(text):
		s.with().Set("path", path.Clean(text))
	case strings.Contains("/"+text+"/", "/../") || strings.Contains("/"+text, "/./"):
		s.refuse(s.with(), "path", "write the path without . and ..", "the path of a file is not taken over: %s", text)
	}
	lines := "file=" + s.given("path") + "\n"
	if !path.IsAbs(text) {
		lines += "case $file in /*) ;; *) file=$PWD/$file ;; esac\n"
	}
	return lines
}

// isOn reports whether a key of `with` is true; without it, otherwise.
func (s *step) isOn(key string, otherwise bool) bool {
	v, there := s.with().Get(key)
	if !there {
		return otherwise
	}
	on, isBool := v.(bool)
	if !isBool {
		s.refuse(s.with(), key, "write true or false", "%s is neither true nor false: %s", key, param.Text(v))
	}
	return on
}

// mode returns a line that sets the permissions of the file; "" if `with` has none.
func (s *step) mode() string {
	v, there := s.with().Get("mode")
	if !there {
		return ""
	}
	if text, isText := v.(string); isText && fileMode().MatchString(text) {
		return "chmod " + text + " \"$file\"\n"
	}
	s.refuse(s.with(), "mode", "write it as \"0644\"", "the permissions of a file are not taken over: %s", param.Text(v))
	return ""
}

var fileMode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^0?[0-7]{3}$`) })

// fileTask returns the task of an action for files, which prints its result as Dagu does.
func (s *step) fileTask(lines string) *param.Map {
	s.outside(s.Map, "type", "an action for files")
	return s.commandTask(lines, program{shell: []param.Value{"/bin/sh", "-e"}, posix: true, stops: true})
}

func (s *step) writeFile() *param.Map {
	s.only(s.with(), "path", "content", "mode", "overwrite", "create_dirs", "atomic")
	lines := s.file()
	if s.isOn("create_dirs", false) {
		lines += "(umask 027; mkdir -p \"$(dirname \"$file\")\")\n"
	}
	content := "printf '%s' " + s.given("content")
	switch overwrite, atomic := s.isOn("overwrite", false), s.isOn("atomic", true); {
	case !overwrite: // -C: the file must not exist
		lines += "(umask 077; set -C; " + content + " > \"$file\")\n"
	case atomic:
		lines += "(umask 077; " + content + " > \"$file.$$$$.tmp\")\nmv -f \"$file.$$$$.tmp\" \"$file\"\n"
	default:
		lines += "(umask 077; " + content + " > \"$file\")\n"
	}
	if text1(s.with(), "content") == "" {
		return s.fileTask(lines + s.mode() + "printf '{\"operation\":\"write\",\"path\":\"%s\",\"created\":true}\\n' \"$file\"\n")
	}
	return s.fileTask(lines + s.mode() + "printf '{\"operation\":\"write\",\"path\":\"%s\",\"bytes\":%d,\"created\":true}\\n' \"$file\" \"$(wc -c < \"$file\")\"\n")
}

func (s *step) makeFolder() *param.Map {
	s.only(s.with(), "path")
	return s.fileTask(s.file() + "(umask 027; mkdir -p \"$file\")\nprintf '{\"operation\":\"mkdir\",\"path\":\"%s\",\"created\":true}\\n' \"$file\"\n")
}

func (s *step) readFile() *param.Map {
	s.only(s.with(), "path", "format")
	if format := text1(s.with(), "format"); format != "" && format != "raw" {
		s.refuse(s.with(), "format", "read the file with a command", "format %s of a file is not taken over", format)
	}
	return s.fileTask(s.file() + "cat \"$file\"\n")
}
