// Package draw creates random workflows, parameters and outcomes of runs from given numbers.
//
// The simulations and predictions in the tests of package engine use it. It must never draw a random number itself: the
// caller decides where numbers come from, so that a failure can be reproduced and shrunk.
package draw

import (
	"fmt"

	"zerodag/engine"
	"zerodag/engine/param"
)

// Choose picks a number from 0 to n-1. Its source decides what is random; smaller numbers lead to simpler results.
type Choose func(label string, n int) int

// One returns true in one case out of `in`.
func (c Choose) One(label string, in int) bool { return c(label, in) == in-1 }

// Workflow returns a random tree of groups and operators, with all kinds of order and with retries, handlers and
// checks.
func (c Choose) Workflow() *param.Map {
	m := c.group(3)
	if c.One("sla", 8) {
		m.Set("sla", param.New("duration", "00:01", "alert", c.One("alert", 2), "fail", c.One("fail", 2)))
	}
	return m
}

func (c Choose) group(depth int) *param.Map {
	m := param.New()
	c.settings(m)
	parallel := c("order", 4)
	switch parallel {
	case 2:
		m.Set("_parallel", true)
	case 3:
		m.Set("_parallel", param.New("limit", int64(c("limit", 3))))
	}
	var names []param.Value
	for i := range c("children", 6) {
		child := c.task(depth)
		if parallel < 2 && c.One("background", 5) {
			child.Set("_background", true)
		}
		if parallel >= 2 && i > 0 && c.One("after", 3) {
			child.Set("_after", []param.Value{names[c("first", i)], names[c("second", i)]})
		}
		name := fmt.Sprintf("+t%d", i)
		names = append(names, name)
		m.Set(name, child)
	}
	return m
}

func (c Choose) task(depth int) *param.Map {
	switch {
	case depth > 0 && c.One("group", 2):
		return c.group(depth - 1)
	case c.One("disable", 12):
		return param.New("_disable", true)
	}
	m := param.New()
	c.settings(m)
	if c.One("check", 5) {
		m.Set("_check", c.handler())
	}
	m.Set("echo>", "x")
	return m
}

// settings adds the keys that groups and operators share.
func (c Choose) settings(m *param.Map) {
	if c.One("export", 3) {
		export := c.Params()
		switch c("hidden", 10) { // settings may also be in _export
		case 7:
			export.Set("_check", c.handler())
		case 8:
			export.Set("_error", c.handler())
		case 9:
			export.Set("_retry", int64(1))
		}
		m.Set("_export", export)
	}
	switch c("retry", 6) {
	case 4:
		m.Set("_retry", int64(c("retries", 3)))
	case 5:
		m.Set("_retry", param.New("limit", int64(c("retries", 3)), "interval", int64(10)))
	}
	if c.One("error", 5) {
		m.Set("_error", c.handler())
	}
}

// Extended returns a workflow in which some of the tasks have keys that zerodag adds.
func (c Choose) Extended(config *param.Map) *param.Map {
	m := param.New()
	for key, v := range config.All() {
		if inner, ok := v.(*param.Map); ok && key[0] == '+' {
			v = c.Extended(inner)
		}
		m.Set(key, v)
	}
	if m.Has("_disable") {
		return m
	}
	if c.One("if", 4) {
		m.Set("_if", "${x}")
	}
	if c.One("timeout", 4) {
		m.Set("_timeout", "1m")
	}
	c.closing(m)
	if !m.Has("echo>") && c.One("check", 5) {
		m.Set("_check", c.handler())
	}
	if c.One("important", 6) {
		m.Set("_priority", "high")
	}
	if c.One("fast", 4) {
		m.Set("_fail_fast", true)
		if m.Has("echo>") { // it generates no tasks that could fail
			m.Delete("echo>")
			m.Set("py>", "x")
		}
	}
	if parallel := m.Map("_parallel"); parallel != nil && c.One("sliding", 2) {
		m.Set("_parallel", param.New("limit", int64(1+c("abreast", 3)), "sliding", true))
	}
	c.ignoring(m)
	return m
}

func (c Choose) ignoring(m *param.Map) {
	switch c("ignore", 8) {
	case 6:
		m.Set("_ignore_error", true)
	case 7:
		m.Set("_ignore_error", param.New("message", "e1"))
	}
}

func (c Choose) closing(m *param.Map) {
	if c.One("cancel", 5) {
		m.Set("_cancel", c.handler())
	}
	if c.One("finally", 5) {
		m.Set("_finally", c.handler())
	}
}

// Closings returns a workflow with `zerodag: 1` in which some of the tasks have cleanup tasks.
func (c Choose) Closings(config *param.Map) *param.Map {
	m := c.closings(config)
	m.Set("zerodag", int64(1))
	return m
}

func (c Choose) closings(config *param.Map) *param.Map {
	m := param.New()
	for key, v := range config.All() {
		if inner, ok := v.(*param.Map); ok && key[0] == '+' {
			v = c.closings(inner)
		}
		m.Set(key, v)
	}
	if !m.Has("_disable") {
		c.closing(m)
	}
	return m
}

func (c Choose) handler() *param.Map {
	if c.One("handler", 3) {
		return param.New("+h", param.New("echo>", "x"), "+i", param.New("echo>", "x"))
	}
	return param.New("echo>", "x")
}

// Params returns a small tree of parameters, with few keys so that they collide.
func (c Choose) Params() *param.Map {
	m := param.New()
	for range c("keys", 3) {
		key := string(rune('a' + c("key", 4)))
		switch c("value", 4) {
		case 0, 1:
			m.Set(key, int64(c("number", 100)))
		case 2:
			m.Set(key, nil)
		case 3:
			m.Set(key, param.New("x", int64(c("x", 100)), string(rune('a'+c("deep", 3))), param.New("y", int64(c("y", 9)))))
		}
	}
	return m
}

// Outcome returns the result of a run that succeeded; depth limits what it generates.
func (c Choose) Outcome(depth int) engine.Outcome {
	var o engine.Outcome
	if c.One("stores", 3) {
		o.Stores = c.Params()
	}
	if c.One("exports", 5) {
		o.Exports = c.Params()
	}
	if c.One("reset", 6) {
		o.ResetStore = [][]string{{string(rune('a' + c("key", 4)))}, {string(rune('a' + c("key", 4))), "x"}}
	}
	if depth > 0 && c.One("generates", 3) {
		o.Subtasks = c.group(depth - 1)
		if c.One("broken", 10) {
			o.Subtasks = param.New("echo>", "x", "sh>", "y")
		}
	}
	return o
}
