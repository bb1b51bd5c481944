package dagu

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
)

// kinds maps the types of steps that have a counterpart to the functions that make their tasks.
func kinds() map[string]func(*step) *param.Map {
	return map[string]func(*step) *param.Map{
		"": (*step).shellTask, "noop": (*step).noop, "log": (*step).log, "router": (*step).router, "exec": (*step).exec, "http": (*step).http,
		"ssh": (*step).ssh, "mail": (*step).mail, "template": (*step).template, "jq": (*step).jq, "docker": (*step).inDocker, "postgres": (*step).postgres,
		"wait.duration": (*step).wait, "outputs.write": (*step).writeOutputs,
		"file.write": (*step).writeFile, "file.mkdir": (*step).makeFolder, "file.read": (*step).readFile,
		"data.convert": (*step).dataAction, "data.pick": (*step).dataAction,
	}
}

// with is the configuration of a step for its type.
func (s *step) with() *param.Map {
	if m := s.Map.Map("with"); m != nil {
		return m
	}
	return param.New()
}

// run returns the task of a step, without its policies.
func (s *step) run() *param.Map {
	kind := text1(s.Map, "type")
	switch {
	case s.Has("foreach"):
		return s.foreach()
	case s.Has("call"):
		if kind != "" {
			s.refuse(s.Map, "type", "write `require>`, which starts a separate attempt", "a workflow that is called by a step of type %s is not taken over", kind)
		}
		return s.call()
	case s.Has("parallel"):
		s.refuse(s.Map, "parallel", "write `for_each>`", "parallel is not taken over without a workflow that is called")
	case kind == "" && s.Has("exec"):
		return s.exec()
	case kind == "" && s.with().Len() > 0:
		s.refuse(s.Map, "with", "write it another way", "a configuration of a command is not taken over: %s", strings.Join(s.with().Keys(), ", "))
	}
	for _, key := range []string{"value", "routes"} {
		if s.Has(key) && kind != "router" {
			s.refuse(s.Map, key, "write `type: router`", "%s is not taken over for a step that is no router", key)
		}
	}
	if of := kinds()[kind]; of != nil {
		return of(s)
	}
	s.refuse(s.Map, "type", insteadOf(kind), "there is nothing for steps of type %s", kind)
	return param.New("fail>", kind)
}

// insteadOf returns the remedy for a type without a counterpart.
func insteadOf(kind string) string {
	switch name, _, _ := strings.Cut(kind, "."); name {
	case "s3":
		return "run `aws s3` as a command; `s3_copy>`, `s3_move>` and `s3_delete>` work within S3"
	case "human", "approval":
		return "move the following steps into a separate workflow that a person starts"
	case "dag":
		return "write `require>`, which starts a separate attempt"
	}
	return "run a command that does the same; `zerodag operators` lists the operators"
}

// none refuses keys that only apply to commands.
func (s *step) none(keys ...string) {
	for _, key := range append(keys, "outputs", "stdout", "stderr", "container") {
		if s.Has(key) {
			s.refuse(s.Map, key, "run a command that does the same", "%s is not taken over for a step of type %s", key, text1(s.Map, "type"))
		}
	}
}

func (s *step) noop() *param.Map {
	if s.published() != nil {
		return s.shellTask()
	}
	s.none("output")
	return param.New("sh>", ":")
}

func (s *step) log() *param.Map {
	s.none("output")
	s.only(s.with(), "message")
	return param.New("echo>", s.plain(s.with(), "message", text1(s.with(), "message")))
}

func (s *step) router() *param.Map {
	s.none("output")
	routes := s.Map.Map("routes")
	patterns := slices.Clone(routes.Keys())
	slices.SortFunc(patterns, func(a, b string) int { return cmp.Or(cmp.Compare(routeRank(a), routeRank(b)), cmp.Compare(a, b)) })
	text := "Router evaluating: " + literal(text1(s.Map, "value"))
	for _, pattern := range patterns {
		targets, _ := routes.Get(pattern)
		text += "\n  " + literal(pattern) + " -> [" + literal(strings.Join(textsOf(targets), " ")) + "]"
	}
	return param.New("echo>", text)
}

// routeRank orders the routes as Dagu prints them: plain values, then patterns, then the pattern that matches any value.
func routeRank(pattern string) int {
	switch {
	case pattern == "re:.*":
		return 2
	case strings.HasPrefix(pattern, "re:"):
		return 1
	}
	return 0
}

func (s *step) wait() *param.Map {
	s.none("output")
	s.only(s.with(), "duration")
	text := text1(s.with(), "duration")
	if d, ok := param.ParseDuration(text); !ok || d <= 0 {
		s.refuse(s.with(), "duration", "write a duration such as 30s", "the duration of a wait is none: %s", text)
	}
	return param.New("wait>", text)
}

// exec runs a program with arguments that no shell changes.
func (s *step) exec() *param.Map {
	e := s.Map.Map("exec")
	words := []string{s.word(e, "command", strings.TrimSpace(text1(e, "command")))}
	v, _ := e.Get("args")
	for _, a := range keys.ListOf(v) {
		words = append(words, s.word(e, "args", textOf(a)))
	}
	if text1(e, "command") == "" {
		s.refuse(s.Map, "exec", "name a program", "the step has no command")
	}
	return s.commandTask(strings.Join(words, " "), program{shell: nil, posix: true, stops: true})
}

// withinQuotes returns a text for the double quotes of a shell.
func (s *step) withinQuotes(m *param.Map, key, text string) string {
	var b strings.Builder
	last := 0
	for _, at := range reference().FindAllStringIndex(text, -1) {
		b.WriteString(literal(text[last:at[0]]))
		last = at[1]
		whole := text[at[0]:at[1]]
		if own := s.orItself(whole); own != whole {
			b.WriteString(literal(own))
		} else {
			b.WriteString(s.withinDoubleQuotes(m, key, whole))
		}
	}
	return b.String() + literal(text[last:])
}

// orItself returns a variable of the machine so that a shell keeps the text of an unset one, as Dagu does without a shell.
func (s *step) orItself(whole string) string {
	name := strings.TrimPrefix(strings.Trim(whole[1:], "{}"), "env.")
	if !identifier().MatchString(name) || s.meaning(name).x != "" || s.values[name].kind != 0 || s.unavailable(name) {
		return whole
	}
	return "${" + name + "-" + strings.NewReplacer("$", `\$`, "}", `\}`).Replace(whole) + "}"
}

// word returns a text as one word of a shell. Computed values go through a variable, so that the shell does not parse them.
func (s *step) word(m *param.Map, key, text string) string {
	switch {
	case !reference().MatchString(text) && plainWords(text) && text != "" && !strings.ContainsAny(text, " '\"\t"):
		return literal(text)
	case !reference().MatchString(text):
		return literal(shellWord(text))
	case !s.isPlain(text) && !strings.Contains(text, `\`):
		return `"` + s.withinQuotes(m, key, strings.NewReplacer(`"`, `\"`, "`", "\\`").Replace(text)) + `"`
	}
	v := s.plain(m, key, text)
	if strings.Contains(v, "${"+artifacts) { // `_env` does not evaluate what an exported value has
		return `"` + s.withinQuotes(m, key, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(text)) + `"`
	}
	name := "ARG" + strconv.Itoa(s.extra.Len()+1)
	s.extra.Set(name, v)
	return `"$` + name + `"`
}

// jq filters a text or a file with the program jq, which must be installed.
func (s *step) jq() *param.Map {
	filter, options := text1(s.Map, "command"), "-S --indent 4"
	for key, v := range s.with().All() {
		switch {
		case key == "raw" && v == true:
			filter, options = "("+filter+`) | if . == null then "" else . end`, "-S -c -r"
		case key == "raw", key == "input":
		default:
			s.refuse(s.with(), key, "run `jq` as a command", "%s of jq is not taken over", key)
		}
	}
	s.outside(s.Map, "type", "jq")
	script := strings.TrimSuffix(text1(s.Map, "script"), "\n")
	file, isFile := strings.CutPrefix(script, "file://")
	if input := text1(s.with(), "input"); input != "" && script == "" {
		file, isFile = input, true
	} else if input != "" || strings.TrimSpace(script) == "" {
		s.refuse(s.Map, "script", "give it JSON, in `data` or in a file", "jq has no input, or two")
	}
	s.note(s.Map, "type", "install it where the commands run", false, "step %s runs the program jq", s.called)
	const succeeds = " || [ $? = 5 ]" // Dagu prints an error of the filter, and succeeds
	if isFile {
		one := "if length == 1 then .[0] | (" + filter + "\n) else \"the file is not one JSON value\" | halt_error(2) end"
		return s.commandTask("jq -s -M "+options+" "+s.word(s.Map, "command", one)+" < "+s.quotedPath(s.Map, "script", file)+succeeds, program{posix: true, stops: true})
	}
	text := "printf '%s' " + s.word(s.Map, "script", script) + " | jq -M " + options + " " + s.word(s.Map, "command", filter) + succeeds
	return s.commandTask(text, program{posix: true, stops: true})
}

func (s *step) inDocker() *param.Map {
	with := s.with()
	s.Map.Set("container", with.Without("shell", "command"))
	if v, there := with.Get("command"); there && !s.Has("command") {
		s.Map.Set("command", v)
	}
	s.Map.Delete("with")
	return s.shellTask()
}

// templateText returns the text of a template: of the step, or of a variable of the file that `template_ref` names.
func (s *step) templateText() string {
	from, there := s.with().Get("template_ref")
	if !there {
		return text1(s.Map, "script")
	}
	name, isVariable := strings.CutPrefix(textOf(from), "${env.")
	name, isWhole := strings.CutSuffix(name, "}")
	text := text1(s.entries(s.workflow.Map), name)
	if !isVariable || !isWhole || s.Has("script") || text == "" || reference().MatchString(text) || s.values[name].kind != ofEnv || s.entries(s.Map).Has(name) {
		s.refuse(s.with(), "template_ref", "write the template into the step", "a template from elsewhere is not taken over: %s", textOf(from))
	}
	return text
}

// template is a step that fills a template and writes it.
func (s *step) template() *param.Map {
	with := s.with()
	s.outside(s.Map, "type", "a template")
	s.only(with, "data", "output", "template_ref")
	data, _ := native(with.Map("data")).(map[string]any)
	const dollar = "\ue000" // Dagu replaces references in the data, and not in the template
	text, err := rendered(outsideActions(s.templateText(), "$", dollar), data)
	switch {
	case errors.Is(err, errDecides), errors.Is(err, errUnread), errors.Is(err, errLong), err != nil && reference().MatchString(param.Text(with.Map("data"))):
		s.refuse(s.Map, "script", "write it with ${...}", "the template cannot be filled before the run: %s", err)
	case err != nil: // it fails in Dagu, too
		return param.New("fail>", literal(strings.ReplaceAll(err.Error(), dollar, "$")))
	}
	command := "printf '%s' " + literal(shellWord(strings.ReplaceAll(text, dollar, "$")))
	if reference().MatchString(text) {
		s.extra.Set("TEMPLATE", strings.ReplaceAll(s.plain(with, "data", text), dollar, "${'\\x24'}"))
		command = "printf '%s' \"$TEMPLATE\""
	}
	if file := text1(with, "output"); file != "" {
		command += " > " + s.quotedPath(with, "output", file)
	}
	return s.commandTask(command, program{posix: true, stops: true})
}

// outsideActions replaces a text everywhere but in the `{{ }}` of a template: `$` begins a variable there.
func outsideActions(text, before, after string) string {
	var b strings.Builder
	for text != "" {
		plain, rest, found := strings.Cut(text, "{{")
		b.WriteString(strings.ReplaceAll(plain, before, after))
		if !found {
			break
		}
		action, next, _ := strings.Cut(rest, "}}")
		b.WriteString("{{" + action + "}}")
		text = next
	}
	return b.String()
}

// http is a request. If the response is stored, curl sends it.
func (s *step) http() *param.Map {
	with := s.with()
	method, address, found := strings.Cut(strings.TrimSpace(textOf(first(s.Map, "command"))), " ")
	if !found {
		method, address = "GET", method
	}
	if text := text1(with, "method"); text != "" {
		method = text
	}
	if text := text1(with, "url"); text != "" {
		address = text
	}
	if address = strings.TrimSpace(address); address == "" {
		s.refuse(s.Map, "with", "write its address", "a request has no address")
	}
	silent, _ := with.Get("silent")
	s.none()
	if len(s.stores) > 0 {
		return s.curl(method, address, silent == true)
	}
	task := param.New("http>", s.plain(with, "url", address), "method", s.plain(with, "method", strings.ToUpper(method)))
	for key, v := range with.All() {
		switch key {
		case "headers":
			var list []param.Value
			for name, v := range with.Map("headers").All() {
				list = append(list, param.New(name, s.plain(with, key, textOf(v))))
			}
			task.Set("headers", list)
		case "body":
			text := textOf(v)
			if text == "" {
				text = param.Text(v)
			}
			task.Set("content", s.plain(with, key, text))
			if !typedBody(with) {
				task.Set("content_type", "text/plain; charset=utf-8")
			}
		case "query":
			query := param.New()
			for name, v := range with.Map(key).All() {
				query.Set(name, s.plain(with, key, textOf(v)))
			}
			task.Set(key, query)
		case "timeout":
			task.Set(key, v)
		case "skip_tls_verify":
			task.Set("insecure", v)
		case "silent", "json", "debug", "format", "method", "url":
		default:
			s.refuse(with, key, "see `zerodag operators http`", "%s of a request is not taken over", key)
		}
	}
	s.note(s.Map, "type", "see `store_content` of `http>`", false, "the log does not have the response to step %s", s.called)
	return task
}

// typedBody reports whether a request has a Content-Type.
func typedBody(with *param.Map) bool {
	return slices.ContainsFunc(with.Map("headers").Keys(), func(name string) bool { return strings.EqualFold(name, "Content-Type") })
}

func first(m *param.Map, key string) param.Value {
	v, _ := m.Get(key)
	if list := keys.ListOf(v); len(list) > 0 {
		return list[0]
	}
	return nil
}

// curl is a request whose response is stored.
func (s *step) curl(method, address string, silent bool) *param.Map {
	with := s.with()
	if !silent {
		s.refuse(s.Map, "output", "write `silent: true`, which leaves the body alone", "the output of a request begins with its status and headers")
	}
	s.only(with, "method", "url", "headers", "body", "timeout", "silent", "skip_tls_verify")
	command := []string{"curl", "-sSfL"}
	body := text1(with, "body")
	if method = strings.ToUpper(method); method != "GET" && (method != "POST" || body == "") { // which curl uses by itself, and not after a redirect
		command = append(command, "-X", s.word(with, "method", method))
	}
	for name, v := range with.Map("headers").All() {
		command = append(command, "-H", s.word(with, "headers", name+": "+textOf(v)))
	}
	if body != "" {
		if !typedBody(with) {
			command = append(command, "-H", "'Content-Type: text/plain; charset=utf-8'")
		}
		command = append(command, "--data-raw", s.word(with, "body", body))
	}
	if n := s.whole(with, "timeout"); n > 0 {
		command = append(command, "-m", strconv.FormatInt(n, 10))
	}
	if on, _ := with.Get("skip_tls_verify"); on == true {
		command = append(command, "-k")
	}
	s.note(s.Map, "type", "install it where the commands run", false, "step %s runs the program curl", s.called)
	return s.commandTask(strings.Join(append(command, s.word(with, "url", address)), " "), program{posix: true, stops: true})
}

// ssh is a command on another machine. It must never run locally.
func (s *step) ssh() *param.Map {
	with := param.Merge(s.workflow.Map.Map("ssh"), s.with())
	s.none("output", "env", "working_dir", "shell", "exec")
	text := textOf(first(s.Map, "command"))
	if script := text1(s.Map, "script"); script != "" {
		text = strings.TrimSpace(text + "\n" + script)
	}
	if v, _ := s.Get("command"); len(keys.ListOf(v)) > 1 {
		s.refuse(s.Map, "command", "write one command, or a task for each", "several commands of one step are not taken over for another machine")
	}
	if text == "" {
		s.refuse(s.Map, "command", "write a command", "the step has no command")
	}
	task := param.New("ssh>", s.remote(text))
	for key, v := range with.All() {
		switch key {
		case "host", "user":
			task.Set(key, s.plain(with, key, textOf(v)))
		case "ip":
			task.Set("host", s.plain(with, key, textOf(v)))
		case "port":
			if n, err := strconv.ParseInt(textOf(v), 10, 64); err == nil {
				task.Set(key, n)
			} else {
				s.refuse(with, key, "write a number", "port of ssh is no number: %s", textOf(v))
			}
		case "key", "password":
			name := map[string]string{"key": "ssh.private_key=@FILE", "password": "ssh.password=-"}[key]
			if key == "password" {
				task.Set("password_auth", true)
			}
			s.note(with, key, "zerodag secrets --project PROJECT --set "+name, false, "the %s for ssh is a secret here", key)
		case "strict_host_key":
			if v == false {
				task.Set("host_key_checking", false)
			}
		case "known_host_file":
			s.note(with, key, "zerodag secrets --project PROJECT --set ssh.known_hosts=@FILE", false, "known hosts for ssh are a secret here")
		case "timeout":
			task.Set("connect_timeout", v)
		default:
			s.refuse(with, key, "see `zerodag operators ssh`", "%s of ssh is not taken over", key)
		}
	}
	if !task.Has("host") || !task.Has("user") {
		s.refuse(s.Map, "type", "write `host` and `user`", "ssh has no host or no user")
	}
	if !task.Has("host_key_checking") && !with.Has("known_host_file") {
		s.note(s.Map, "type", "write `host_key`, or zerodag secrets --project PROJECT --set ssh.known_hosts=@~/.ssh/known_hosts", false, "step %s needs the host key of the server", s.called)
	}
	return task
}

// remote is a command for a shell on another machine. References with a value here are replaced; the others are left to that shell.
func (s *step) remote(text string) string {
	var b strings.Builder
	last := 0
	for _, at := range reference().FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(literal(text[last:at[0]]))
		last = at[1]
		whole, inner := text[at[0]:at[1]], strings.Trim(text[at[0]+1:at[1]], "{}")
		switch is := s.meaning(inner); {
		case is.x != "":
			b.WriteString("${" + is.x + "}")
		case s.values[inner].kind == ofSecret:
			b.WriteString("${secret:" + inner + "}")
		case is.owned || s.values[inner].kind != 0 || s.unavailable(inner):
			s.refuse(s.Map, "command", "write the value, or give it as a parameter", "nothing stands for %s", whole)
		default:
			b.WriteString(literal(whole))
		}
	}
	return b.String() + literal(text[last:])
}

// postgres is a query, with the connection of its URL.
func (s *step) postgres() *param.Map {
	with := s.with()
	s.none("output")
	s.only(with, "dsn", "transaction", "timeout", "output_format")
	query := strings.TrimSpace(textOf(first(s.Map, "command")))
	if script := text1(s.Map, "script"); script != "" {
		query = script
	}
	if query == "" {
		s.refuse(s.Map, "command", "write a query", "the step has no query")
	}
	if on, _ := with.Get("transaction"); on == true {
		s.refuse(with, "transaction", "`strict_transaction` of `pg>` runs each task exactly once", "transaction of a query is not taken over")
	}
	task := param.New("pg>", param.New("data", s.plain(s.Map, "command", query)))
	u, err := url.Parse(text1(with, "dsn"))
	if err != nil || u.Hostname() == "" || u.User.Username() == "" || reference().MatchString(text1(with, "dsn")) {
		s.refuse(with, "dsn", "write `host`, `user` and `database`, and set the secret pg.password", "the connection is not a plain URL")
		return task
	}
	task.Set("host", u.Hostname())
	if n, err := strconv.ParseInt(u.Port(), 10, 64); err == nil {
		task.Set("port", n)
	}
	task.Set("user", u.User.Username())
	task.Set("database", strings.TrimPrefix(u.Path, "/"))
	for key, values := range u.Query() {
		switch {
		case key == "sslmode" && values[0] != "disable":
			task.Set("ssl", true)
		case key == "sslmode":
		default:
			s.refuse(with, "dsn", "see `zerodag operators pg`", "%s of the connection is not taken over", key)
		}
	}
	if n := s.whole(with, "timeout"); n > 0 {
		task.Set("socket_timeout", strconv.FormatInt(n, 10)+"s")
	}
	s.note(s.Map, "type", "zerodag secrets --project PROJECT --set pg.password=-", false, "the password of the database is a secret here, and the log does not have the rows of step %s", s.called)
	return task
}

func (s *step) mail() *param.Map {
	with := s.with()
	s.none("output")
	s.only(with, "to", "from", "subject", "message", "attachments", "cc", "bcc")
	task := param.New("mail>", param.New("data", s.plain(with, "message", text1(with, "message"))), "subject", s.plain(with, "subject", text1(with, "subject")))
	for _, key := range []string{"to", "cc", "bcc"} {
		var list []param.Value
		for _, address := range texts(with, key) {
			for one := range strings.SplitSeq(address, ",") {
				list = append(list, s.plain(with, key, strings.TrimSpace(one)))
			}
		}
		if list != nil {
			task.Set(key, list)
		}
	}
	if from := text1(with, "from"); from != "" {
		task.Set("from", s.plain(with, "from", from))
	}
	var files []param.Value
	for _, file := range texts(with, "attachments") {
		files = append(files, param.New("path", s.plain(with, "attachments", file)))
	}
	if files != nil {
		task.Set("attach_files", files)
	}
	if !task.Has("to") {
		s.refuse(with, "to", "write an address", "a mail has no address")
	}
	s.note(s.Map, "type", "set the mail server of the server (config.mail.*)", false, "the step %s sends mail", s.name)
	return task
}
