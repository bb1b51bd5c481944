package main

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"zerodag/internal/program"
	"zerodag/internal/term"
)

// againCommand returns the command that resumes the session: the command line of this run, without options that would
// start over. A command with values that may be secrets is not repeated, since output may be stored for others to read.
func againCommand(flags *pflag.FlagSet, args []string, session time.Time) string {
	words, hidden, anew := append([]string{program.Name, "run"}, args...), false, ""
	flags.Visit(func(f *pflag.Flag) {
		_, isList := f.Value.(pflag.SliceValue)
		switch {
		case f.Name == "rerun" || f.Name == "all" || f.Name == "start":
			anew = ", but without --" + f.Name
		case f.Name == "session" || f.Name == "session-time":
		case isList:
			hidden = true
		case f.Value.Type() == "bool":
			words = append(words, "--"+f.Name)
		default:
			words = append(words, "--"+f.Name, f.Value.String())
		}
	})
	if hidden {
		return "the same command as before" + anew
	}
	if flags.Changed("session") || flags.Changed("session-time") {
		words = append(words, "--session", strings.TrimSuffix(session.Format("2006-01-02 15:04:05"), " 00:00:00"))
	}
	for i, w := range words {
		words[i] = term.ShellWord(w)
	}
	return program.AsCalled(strings.Join(words, " "))
}
