package configuration

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// place is a Digdag setting that may name a place outside this machine, or a feature that zerodag does not have.
type place struct {
	key    string   // "x.*" matches every key below x
	here   []string // values that mean this machine; if empty, every value names another place
	shared []string // further accepted values if servers share a database
	lost   string   // the silent consequence if the setting were ignored
	remedy string
}

// places lists the settings that zerodag must not ignore, because that would weaken isolation or put data where no
// administrator expects it.
var places = []place{
	{"agent.command_executor.type", []string{"process", "simple", "docker"}, nil, "commands would be processes of the server's user", "write docker (each command in a container) or process"},
	{"agent.command_executor.ecs.*", nil, nil, "commands would not run in ECS", "remove it, or deploy on AWS, where commands run on Fargate (`zerodag docs aws`)"},
	{"agent.command_executor.kubernetes.*", nil, nil, "commands would not run in Kubernetes", "remove it, and write agent.command_executor.type = docker"},
	{"database.type", []string{"sqlite", "h2", "memory"}, []string{PostgreSQL}, "data would be in SQLite in a local folder, and the data in that database would be ignored", "write sqlite; `zerodag import --from URL` copies projects and schedules of a running server"},
	{"archive.type", []string{"local", "db"}, []string{InS3}, "archives would be in the folder of the data", "write local; S3 is for servers that share a database (database.type = postgresql)"},
	{"log-server.type", []string{"local", "null"}, []string{InS3, InDatabase}, "logs would be in the folder of the data", "write local or null; S3 is for servers that share a database (database.type = postgresql)"},
	{"digdag.secret-access-policy-file", nil, nil, "every operator could read every secret of its project", "remove it, and keep secrets that only some workflows may use in a separate project"},
	{"param_server.type", nil, nil, "param_set> would keep values in the data of this server, and the values in that store would be ignored", "remove it"},
}

// ExecutorPlaces lists the keys for StayHere that matter to a run on this machine.
var ExecutorPlaces = []string{"agent.command_executor.type", "agent.command_executor.ecs.*", "agent.command_executor.kubernetes.*"}

// elsewhere lists settings that cannot take effect here. If only lists keys, it checks no others. shares means that the
// caller is a server that shares a database with others.
func (s Settings) elsewhere(shares bool, only ...string) (list []string) {
	for _, p := range places {
		if len(only) > 0 && !slices.Contains(only, p.key) {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(s)) {
			below, isTree := strings.CutSuffix(p.key, "*")
			value := strings.TrimSpace(s[key])
			if value == "" || key != p.key && !(isTree && strings.HasPrefix(key, below)) || slices.Contains(p.here, value) || shares && slices.Contains(p.shared, value) {
				continue
			}
			list = append(list, fmt.Sprintf("%s = %s: %s; %s", key, shownSetting(key, value), p.lost, p.remedy))
			if isTree {
				break // one key of a tree suffices
			}
		}
	}
	return list
}

// shownSetting formats a setting for display, and hides the value of a key that may be a secret.
func shownSetting(key, value string) string {
	if isSecret(key) {
		return "****"
	}
	return value
}

// isSecret reports whether the value of a key may be a secret, judging by its name.
func isSecret(key string) bool {
	last := key[strings.LastIndexByte(key, '.')+1:]
	if strings.HasPrefix(key, "alert.channels.") && (last == "url" || strings.Contains(key, ".headers.")) { // it contains a token
		return true
	}
	return !strings.HasSuffix(key, "-file") && slices.ContainsFunc([]string{"key", "secret", "password", "token"},
		func(word string) bool { return strings.Contains(last, word) })
}

// AcceptLocalUsage is the help text of --accept-local.
const AcceptLocalUsage = "start even if the configuration names executors, stores or protections that this machine does not have: commands are then local processes, and data is in files"

// StayHere returns an error if the configuration names executors, stores or protections that this machine does not have, unless the
// administrator accepts that. shares means that the caller is a server that shares a database with others. If only
// lists keys, it checks no others.
func (s Settings) StayHere(accepted, shares bool, only ...string) error {
	list := s.elsewhere(shares, only...)
	if accepted || len(list) == 0 {
		return nil
	}
	return errors.New("the configuration names executors, stores or protections that this machine does not have, and nothing is weakened silently:\n  " + strings.Join(list, "\n  ") +
		"\nChange these keys, or accept all of this with --accept-local (`zerodag docs server`)")
}
