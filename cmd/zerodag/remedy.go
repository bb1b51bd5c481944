package main

import (
	"regexp"
	"strings"
	"sync"
)

// missingSecret finds the key in the message of a task whose secret there is not.
var missingSecret = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Secret not found for key: '([^']+)'`) })

// remedyOf is what a failure whose message alone does not say it can be mended with; "" for nothing. project is
// that of a server, "" for a run on this machine.
func remedyOf(message, project string) string {
	secret := missingSecret().FindStringSubmatch(message)
	where := "--local"
	if project != "" {
		where = "--project " + shellWord(project)
	}
	switch {
	case secret != nil:
		return "zerodag secrets " + where + " --set " + shellWord(secret[1]) + "=-   reads it from stdin"
	case strings.HasPrefix(message, "Unknown task type: "):
		return "`zerodag operators` lists the operators, `zerodag check` says which one may be meant"
	case strings.HasPrefix(message, "Command failed with code 127"):
		return "127 is what a shell says of a program that it does not find: is it on the PATH of this machine?"
	case strings.HasPrefix(message, "Command failed with code 126"):
		return "126 is what a shell says of a file that it may not run: chmod +x?"
	}
	return ""
}
