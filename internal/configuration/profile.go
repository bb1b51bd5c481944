package configuration

import (
	"strings"

	"zerodag/operators"
)

// The profiles of a server describe who pushes workflows to it.
const (
	ownProfile    = "own"    // the user who runs it and equally trusted users
	SharedProfile = "shared" // users who do not trust each other
)

// sharedDefaults returns the defaults of keys in the profile for several users.
func sharedDefaults() Settings {
	return Settings{
		"agent.command_executor.allow":               operators.InDocker,
		"agent.command_executor.docker.options":      "false",
		"agent.command_executor.process.environment": "bare",
		"agent.command_executor.limits.timeout":      "1d",
		"agent.command_executor.limits.memory":       "2g",
		"agent.command_executor.ceilings.timeout":    "7d",
		"agent.command_executor.ceilings.processes":  "4096",
		"agent.command_executor.ceilings.output":     "1g",
		"config.aws.environment":                     "false",
		"config.http.allow_user_proxy":               "false",
		"security.local_addresses":                   "false",
	}
}

// Profiled returns the settings with the defaults of their profile. A server that runs commands only in docker uses the
// profile for several users unless it sets a different one.
func (s Settings) Profiled() (Settings, error) {
	r := s.Reading()
	otherwise := ownProfile
	if r.Text("agent.command_executor.allow", "") == operators.InDocker {
		otherwise = SharedProfile
	}
	profile := otherwise
	if r.Text("security.profile", "") != "" {
		profile = r.OneOf("security.profile", ownProfile, SharedProfile)
	}
	if r.Err != nil || profile == ownProfile {
		return s, r.Err
	}
	all := sharedDefaults()
	for key, value := range s {
		if strings.TrimSpace(value) != "" || all[key] == "" {
			all[key] = value
		}
	}
	all["security.profile"] = strings.TrimSpace(s["security.profile"]) // the given value, not the derived one
	return all, nil
}
