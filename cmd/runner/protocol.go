//go:build linux

package main

import "time"

// The types of the protocol: package sandbox has the same ones, and a test runs this program against it.

type joining struct {
	Secret  string `json:"secret"`
	Machine string `json:"machine,omitempty"`
}

type joined struct {
	Pass string `json:"pass"`
}

type beat struct {
	Free    int      `json:"free"`
	Running []string `json:"running"`
	Idle    int64    `json:"idle_ms"`
	Lost    bool     `json:"lost"`
}

type orders struct {
	Commands []order  `json:"commands"`
	Kill     []string `json:"kill"`
	Wait     int64    `json:"wait_ms"`
	Leave    bool     `json:"leave"`
}

type order struct {
	Key     string   `json:"key"`
	Spec    spec     `json:"spec"`
	Archive string   `json:"archive_url"`
	Log     string   `json:"log_url"`
	Began   int64    `json:"log_began_ns"`
	Mask    []string `json:"mask"`
}

type spec struct {
	Name    string            `json:"name"`
	Args    []string          `json:"args"`
	Dir     string            `json:"dir"`
	Env     []string          `json:"env"`
	Scratch string            `json:"scratch"`
	Files   map[string][]byte `json:"files"`
	Outputs []string          `json:"outputs"`
	Archive string            `json:"archive"`
	Limits  limits            `json:"limits"`
}

type limits struct {
	Seconds   int64 `json:"seconds"`
	Processes int   `json:"processes"`
	Output    int64 `json:"output"`
	Disk      int64 `json:"disk"`
	Memory    int64 `json:"memory"`
}

func (l limits) time() time.Duration { return time.Duration(l.Seconds) * time.Second }

type finished struct {
	Key    string `json:"key"`
	Result result `json:"result"`
}

type result struct {
	Code    int               `json:"code"`
	Signal  int               `json:"signal,omitempty"`
	Why     string            `json:"why,omitempty"`
	Outputs map[string][]byte `json:"outputs,omitempty"`
	Blobs   map[string]string `json:"blobs,omitempty"`
	Log     []byte            `json:"log,omitempty"`
	LogLost string            `json:"log_lost,omitempty"`
}

type call struct {
	order
	Logs    []string         `json:"logs"`
	Outputs map[string]given `json:"outputs"`
	Killed  string           `json:"killed_url"`
}

type wanted struct {
	Key    string `json:"key"`
	Upload upload `json:"upload"`
}

type upload struct {
	Kind  string `json:"kind"`
	Name  string `json:"name,omitempty"`
	Size  int64  `json:"size,omitempty"`
	Began int64  `json:"began_ns,omitempty"`
}

type given struct {
	URL  string `json:"url"`
	Blob string `json:"blob"`
}
