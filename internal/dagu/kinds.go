package dagu

import (
	"fmt"
	"slices"
	"strings"

	"zerodag/engine/param"
)

// with is the configuration of a step for its type.
func (s *step) with() *param.Map {
	if m := s.Map.Map("with"); m != nil {
		return m
	}
	if m := s.Map.Map("config"); m != nil {
		return m
	}
	return param.New()
}

// run is what a step does, without its policies.
func (s *step) run() *param.Map {
	kind := text1(s.Map, "type")
	switch {
	case s.Has("call"):
		return s.call()
	case kind == "router":
		return param.New("echo>", "the value is "+s.plain(s.Map, "value", text1(s.Map, "value")))
	case kind == "noop":
		return param.New("echo>", s.name)
	case kind == "http":
		return s.http()
	case kind == "ssh":
		return s.ssh()
	case kind == "mail":
		return s.mail()
	case kind == "template":
		return s.shellTask(s.template())
	case kind == "jq":
		script := text1(s.Map, "script")
		return s.shellTask(fmt.Sprintf("jq %s <<'END'\n%s\nEND\n", shellWord(s.commandText()), strings.TrimSuffix(script, "\n")))
	case kind == "docker":
		return s.docker(s.with())
	case slices.Contains([]string{"", "command", "shell"}, kind):
		return s.shellTask(s.shellText())
	}
	s.lost(s.Map, "type", "run a command that does the same, or look at `zerodag operators`", "there is nothing for steps of type %s", kind)
	return param.New("fail>", "the step "+s.name+" is of type "+kind+", which was not taken over")
}

// commandText is the command of a step as one text: several are lines of it.
func (s *step) commandText() string {
	if e := s.Map.Map("exec"); e != nil {
		list := []string{shellWord(text1(e, "command"))}
		for _, a := range texts(e, "args") {
			list = append(list, shellWord(a))
		}
		return strings.Join(list, " ")
	}
	v, _ := s.Get("command")
	if m, isMap := v.(*param.Map); isMap { // `echo: hello` is one key
		for key, v := range m.All() {
			return key + ": " + textOf(v)
		}
	}
	return strings.Join(texts(s.Map, "command"), "\n")
}

// shellText is what a shell reads.
func (s *step) shellText() string {
	command, script := s.commandText(), text1(s.Map, "script")
	switch {
	case script == "":
	case command != "":
		command = heredoc(command, script)
	default:
		command = script
		if first, _, _ := strings.Cut(script, "\n"); strings.HasPrefix(first, "#!") {
			if program := strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(first[2:]), "/usr/bin/env "), "-S "); !strings.HasSuffix(strings.Fields(program + " x")[0], "sh") {
				command = heredoc(program, script)
			}
		}
	}
	if command == "" && s.published() != nil {
		return s.publish()
	}
	folder := text1(s.Map, "working_dir")
	if folder == "" {
		folder = text1(s.workflow.Map, "working_dir")
	}
	if folder != "" {
		command = "cd " + strings.Trim(folder, " ") + "\n" + command
	}
	for _, out := range []struct{ key, sign string }{{"stdout", ">"}, {"stderr", "2>"}} {
		if file := text1(s.Map, out.key); file != "" {
			command = "{\n" + strings.TrimSuffix(command, "\n") + "\n} " + out.sign + " \"" + file + "\"\n"
		}
	}
	return s.command(command)
}

func heredoc(command, script string) string {
	return command + " <<'END'\n" + strings.TrimSuffix(script, "\n") + "\nEND\n"
}

// shellTask is a task that runs a text in a shell, with what the step says about that.
func (s *step) shellTask(text string) *param.Map {
	task := param.New("sh>", text)
	if shell := s.shell(s.Map, "shell"); shell != nil {
		task.Set("shell", shell)
	}
	if v, there := s.Get("container"); there {
		if m, isMap := v.(*param.Map); isMap {
			s.dockerOf(m, task)
		} else {
			s.lost(s.Map, "container", "name an image, for a container of its own", "a command does not run in a container that is there")
		}
	}
	if env := s.needed(text, s.entries(s.Map)); env != nil {
		task.Set("_env", env)
	}
	if stored := s.stored(); stored != nil {
		task.Set("_store", stored)
	}
	return task
}

// shell is the shell of a workflow or a step, as a list; nil for none of its own.
func (w *workflow) shell(m *param.Map, key string) param.Value {
	list := texts(m, key)
	if len(list) == 1 {
		list = words(list[0])
	}
	if len(list) == 0 {
		return nil
	}
	if strings.HasPrefix(list[0], "nix") || list[0] == "direct" {
		w.lost(m, key, "install what it needs where the commands run", "the shell %s is not used", list[0])
		return nil
	}
	if list[0] == "bash" || list[0] == "sh" {
		list[0] = "/bin/" + list[0]
	}
	out := make([]param.Value, len(list))
	for i, word := range list {
		out[i] = word
	}
	return out
}

// image is the image of a container for all steps.
func (w *workflow) image(m *param.Map) string {
	v, there := m.Get("container")
	c, isMap := v.(*param.Map)
	if there && !isMap {
		w.lost(m, "container", "name an image, for containers of their own", "commands do not run in a container that is there")
		return ""
	}
	for key := range c.All() {
		if key != "image" {
			w.lost(c, key, "see `docker` in the page about commands", "%s of a container is not taken over: each command has a container of its own", key)
		}
	}
	return text1(c, "image")
}

func (s *step) dockerOf(m, task *param.Map) {
	if image := s.image(param.New("container", m)); image != "" {
		task.Set("docker", param.New("image", image))
	}
}

func (s *step) docker(with *param.Map) *param.Map {
	task := s.shellTask(s.shellText())
	s.dockerOf(with, task)
	return task
}

// outputs says what the step stores, before anything is translated that may name it.
func (s *step) outputs() {
	declare := func(name, as string) {
		s.values[name] = value{ofOutput, as}
		s.stores = append(s.stores, as)
	}
	v, _ := s.Get("output")
	switch x := v.(type) {
	case string:
		name := strings.TrimPrefix(x, "$")
		declare(name, variable(name))
		if s.id != "" {
			s.values[s.id+"."+name] = value{ofOutput, variable(name)}
		}
	case *param.Map:
		if x.Has("name") && !x.Has("from") && len(x.Keys()) <= 3 && (x.Has("key") || x.Has("omit") || x.Len() == 1) {
			declare(text1(x, "name"), variable(text1(x, "name")))
			return
		}
		for key := range x.All() {
			declare(s.id+"."+key, variable(s.id+"_"+key))
		}
	}
}

// published are plain values that a step says without running anything; nil where it does not.
func (s *step) published() *param.Map {
	m := s.Map.Map("output")
	if m == nil || s.Has("command") || s.Has("script") || s.Has("exec") {
		return nil
	}
	return m
}

// publish leaves them for the steps after it.
func (s *step) publish() string {
	out := param.New()
	for key, v := range s.published().All() {
		if m, isMap := v.(*param.Map); isMap && m.Has("value") {
			v, _ = m.Get("value")
		}
		if t, isText := v.(string); isText {
			v = s.plain(s.published(), key, s.dollars(t))
		}
		out.Set(variable(s.id+"_"+key), v)
	}
	return "cat >> \"$DIGDAG_STORE\" <<'END'\n" + param.Text(out) + "\nEND\n"
}

// stored is what `_store` takes from a command; nil for nothing.
func (s *step) stored() *param.Map {
	v, _ := s.Get("output")
	switch x := v.(type) {
	case string:
		return param.New(s.stores[0], "stdout")
	case *param.Map:
		if s.published() != nil {
			return nil
		}
		if len(s.stores) == 1 && x.Has("name") {
			return param.New(s.stores[0], "stdout")
		}
		out := param.New()
		for key, v := range x.All() {
			name := variable(s.id + "_" + key)
			m, isMap := v.(*param.Map)
			if !isMap || !m.Has("from") {
				s.lost(x, key, "let the command leave it in $DIGDAG_STORE", "a value beside a command is not taken over")
				continue
			}
			rule := param.New()
			for word, v := range m.All() {
				switch word {
				case "from", "path", "decode", "select":
					rule.Set(word, v)
				default:
					s.lost(m, word, "see `_store`", "%s of an output is not known", word)
				}
			}
			out.Set(name, rule)
		}
		return out
	}
	return nil
}

// call runs another workflow, once or for each of some items.
func (s *step) call() *param.Map {
	name := fileName(text1(s.Map, "call"))
	if !s.local[name] {
		s.note(s.Map, "call", "translate it, too: zerodag import dagu "+name+".yaml", false, "the workflow %s is in another file", name)
	}
	over, items := s.items()
	task := param.New("call>", name+".dig")
	if params := s.callParams(); params.Len() > 0 {
		task.Set("_export", params)
	}
	if s.Has("output") {
		s.lost(s.Map, "output", "name what the steps of the workflow store, which is seen here as it is", "the output of a workflow that is called has no name of its own")
	}
	if over == nil {
		return task
	}
	loop := param.New("for_each>", param.New("ITEM", over))
	loop.Set("_parallel", items)
	loop.Set("_do", task)
	return loop
}

// items are those that a step is run for, and how many at once.
func (s *step) items() (over, side param.Value) {
	v, there := s.Get("parallel")
	if !there {
		return nil, nil
	}
	s.values["ITEM"] = value{ofItem, "ITEM"}
	side = true
	if m, isMap := v.(*param.Map); isMap {
		if n := s.whole(m, "max_concurrent"); n > 0 {
			side = param.New("limit", n)
		}
		v, _ = m.Get("items")
	}
	switch x := v.(type) {
	case string:
		return s.listed(x), side
	case []param.Value:
		return s.evaluated(x), side
	}
	return []param.Value{}, side
}

// listed is a list that a text is when the workflow runs: JSON, or words.
func (s *step) listed(text string) param.Value {
	if !strings.Contains(text, "$") {
		if v, err := param.ParseJSON(text); err == nil {
			if list, isList := v.([]param.Value); isList {
				return list
			}
		}
		var list []param.Value
		for _, word := range strings.Fields(text) {
			list = append(list, word)
		}
		return list
	}
	x := s.script(s.Map, "parallel", s.dollars(text))
	return "${" + x + ".trim().charAt(0) == '[' ? " + x + " : JSON.stringify(" + x + `.trim().split(/\s+/))}`
}

// evaluated is a value whose texts are plain ones.
func (s *step) evaluated(v param.Value) param.Value {
	switch x := v.(type) {
	case string:
		return s.plain(s.Map, "parallel", s.dollars(x))
	case []param.Value:
		out := make([]param.Value, len(x))
		for i, e := range x {
			out[i] = s.evaluated(e)
		}
		return out
	case *param.Map:
		out := param.New()
		for key, e := range x.All() {
			out.Set(key, s.evaluated(e))
		}
		return out
	}
	return v
}

// callParams are the parameters for a workflow that is called. One that keeps its name is seen there as it is: exported
// under itself it would be a text with ${...} in it.
func (s *step) callParams() *param.Map {
	out := param.New()
	set := func(name, text string) {
		if text = s.plain(s.Map, "params", s.dollars(text)); text != "${"+variable(name)+"}" {
			out.Set(variable(name), text)
		}
	}
	v, _ := s.Get("params")
	list, isList := v.([]param.Value)
	if !isList {
		list = []param.Value{v}
	}
	for _, e := range list {
		switch x := e.(type) {
		case string:
			for _, word := range words(x) {
				name, text, isPair := strings.Cut(word, "=")
				if !isPair {
					s.lost(s.Map, "params", "write NAME=VALUE", "a parameter has no name: %s", word)
					continue
				}
				set(name, text)
			}
		case *param.Map:
			for name, v := range x.All() {
				set(name, textOf(v))
			}
		}
	}
	if s.Has("parallel") && out.Len() == 0 {
		return out // the workflow sees ITEM as it is
	}
	return out
}

// http is a request. What it answers is taken by a client on the command line where something is to be stored of it.
func (s *step) http() *param.Map {
	method, address, found := strings.Cut(strings.TrimSpace(s.commandText()), " ")
	if !found {
		method, address = "GET", method
	}
	with := s.with()
	headers := with.Map("headers")
	body := text1(with, "body")
	if s.Has("output") {
		command := "curl -sSf -X " + method
		for name, v := range headers.All() {
			command += " -H " + shellWord(name+": "+textOf(v))
		}
		if body != "" {
			command += " --data " + shellWord(body)
		}
		return s.shellTask(s.command(command + " " + shellWord(address)))
	}
	task := param.New("http>", s.plain(s.Map, "command", address), "method", method)
	for key, v := range with.All() {
		switch key {
		case "headers":
			var list []param.Value
			for name, v := range headers.All() {
				list = append(list, param.New(name, s.plain(headers, name, textOf(v))))
			}
			task.Set("headers", list)
		case "body":
			task.Set("content", s.plain(with, "body", body))
		case "query", "timeout":
			task.Set(key, v)
		case "silent", "json", "debug":
		case "skip_tls_verify":
			task.Set("insecure", v)
		default:
			s.lost(with, key, "see `zerodag operators http`", "%s of a request is not known", key)
		}
	}
	return task
}

func (s *step) ssh() *param.Map {
	with := s.with()
	if with.Len() == 0 {
		if m := s.workflow.Map.Map("ssh"); m != nil {
			with = m
		}
	}
	task := param.New("ssh>", s.plain(s.Map, "command", s.commandText()))
	for key, v := range with.All() {
		switch key {
		case "host", "user", "port":
			task.Set(key, v)
		case "ip":
			task.Set("host", v)
		case "key", "password":
			name := map[string]string{"key": "ssh.private_key=@FILE", "password": "ssh.password=-"}[key]
			s.note(with, key, "zerodag secrets --project PROJECT --set "+name, false, "the %s for ssh is a secret here", key)
		default:
			s.lost(with, key, "see `zerodag operators ssh`: it wants to know the key of the server (host_key)", "%s of ssh is not taken over", key)
		}
	}
	return task
}

func (s *step) mail() *param.Map {
	with := s.with()
	task := param.New("mail>", param.New("data", s.plain(with, "message", text1(with, "message"))), "subject", s.plain(with, "subject", text1(with, "subject")))
	to := texts(with, "to")
	list := make([]param.Value, len(to))
	for i, address := range to {
		list[i] = address
	}
	task.Set("to", list)
	if from := text1(with, "from"); from != "" {
		task.Set("from", from)
	}
	s.note(s.Map, "type", "tell the server its server for mail (config.mail.*)", false, "the step %s sends mail", s.name)
	return task
}
