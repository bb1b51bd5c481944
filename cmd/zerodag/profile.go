package main

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	"zerodag/internal/egress"
	"zerodag/operators"
)

// The profiles of a server: who pushes workflows to it.
const (
	ownProfile    = "own"    // the user who runs it, and users who are trusted as much
	sharedProfile = "shared" // people who do not trust each other
)

// sharedDefaults are what keys are under the profile of several people unless they are given.
func sharedDefaults() settings {
	return settings{
		"agent.command_executor.allow":               operators.InDocker,
		"agent.command_executor.docker.options":      "false",
		"agent.command_executor.process.environment": "bare",
		"agent.command_executor.limits.timeout":      "1d",
		"agent.command_executor.ceilings.timeout":    "7d",
		"agent.command_executor.ceilings.processes":  "4096",
		"agent.command_executor.ceilings.output":     "1g",
		"config.aws.environment":                     "false",
		"config.http.allow_user_proxy":               "false",
		"security.local_addresses":                   "false",
	}
}

// profiled returns the settings with the defaults of their profile. A server that runs
// commands in docker only is for several people, unless it says otherwise.
func (s settings) profiled() (settings, error) {
	r := s.reading()
	otherwise := ownProfile
	if r.text("agent.command_executor.allow", "") == operators.InDocker {
		otherwise = sharedProfile
	}
	profile := otherwise
	if r.text("security.profile", "") != "" {
		profile = r.oneOf("security.profile", ownProfile, sharedProfile)
	}
	if r.err != nil || profile == ownProfile {
		return s, r.err
	}
	all := sharedDefaults()
	for key, value := range s {
		if strings.TrimSpace(value) != "" || all[key] == "" {
			all[key] = value
		}
	}
	all["security.profile"] = strings.TrimSpace(s["security.profile"]) // what was said, not what follows
	return all, nil
}

// network is what tasks connect by: nil where they may go anywhere.
func (r *reading) network() operators.Network {
	if r.bool("security.local_addresses", true) {
		return nil
	}
	return &egress.Dialer{Except: r.proxies()}
}

// proxies are the addresses of those that the administrator has named: requests go by them
// wherever they stand.
func (r *reading) proxies() []string {
	var all []string
	if host := r.text("config.http.proxy.host", ""); host != "" {
		all = append(all, net.JoinHostPort(host, r.text("config.http.proxy.port", "")))
	}
	for _, scheme := range []string{"http", "https"} {
		proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: scheme, Host: "proxied.invalid"}})
		if err == nil && proxy != nil {
			all = append(all, net.JoinHostPort(proxy.Hostname(), portOf(proxy)))
		}
	}
	return all
}

func portOf(u *url.URL) string {
	if port := u.Port(); port != "" {
		return port
	}
	return map[string]string{"http": "80", "https": "443", "socks5": "1080"}[u.Scheme]
}
