package kinds

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"zerodag/engine/dig/keys"
	"zerodag/engine/param"
	"zerodag/internal/dagu/document"
	"zerodag/internal/dagu/references"
	"zerodag/internal/dagu/tasks"
)

// request returns a task that sends an HTTP request. If the response is stored, curl sends it.
func request(s *tasks.Step) *param.Map {
	with := s.With()
	method, address, found := strings.Cut(strings.TrimSpace(document.TextOf(document.First(s.Map, "command"))), " ")
	if !found {
		method, address = "GET", method
	}
	if text := document.Text(with, "method"); text != "" {
		method = text
	}
	if text := document.Text(with, "url"); text != "" {
		address = text
	}
	if address = strings.TrimSpace(address); address == "" {
		s.Refuse(s.Map, "with", "write its address", "a request has no address")
	}
	silent, _ := with.Get("silent")
	s.None()
	if len(s.Stores) > 0 {
		return curl(s, method, address, silent == true)
	}
	task := param.New("http>", s.Plain(with, "url", address), "method", s.Plain(with, "method", strings.ToUpper(method)))
	for key, v := range with.All() {
		ofRequest(s, task, key, v)
	}
	s.Note(s.Map, "type", "see `store_content` of `http>`", false, "the log does not contain the response of step %s",
		s.Called)
	return task
}

// ofRequest translates one of a request's keys.
func ofRequest(s *tasks.Step, task *param.Map, key string, v param.Value) {
	with := s.With()
	switch key {
	case "headers":
		var list []param.Value
		for name, v := range with.Map("headers").All() {
			list = append(list, param.New(name, s.Plain(with, key, document.TextOf(v))))
		}
		task.Set("headers", list)
	case "body":
		text := document.TextOf(v)
		if text == "" {
			text = param.Text(v)
		}
		task.Set("content", s.Plain(with, key, text))
		if !typedBody(with) {
			task.Set("content_type", "text/plain; charset=utf-8")
		}
	case "query":
		query := param.New()
		for name, v := range with.Map(key).All() {
			query.Set(name, s.Plain(with, key, document.TextOf(v)))
		}
		task.Set(key, query)
	case "timeout":
		task.Set(key, v)
	case "skip_tls_verify":
		task.Set("insecure", v)
	case "silent", "json", "debug", "format", "method", "url":
	default:
		s.Refuse(with, key, "see `zerodag operators http`", "%s of a request is not translated", key)
	}
}

// typedBody reports whether a request has a Content-Type.
func typedBody(with *param.Map) bool {
	return slices.ContainsFunc(with.Map("headers").Keys(),
		func(name string) bool { return strings.EqualFold(name, "Content-Type") })
}

// curl returns a task that sends a request and stores the response.
func curl(s *tasks.Step, method, address string, silent bool) *param.Map {
	with := s.With()
	if !silent {
		s.Refuse(s.Map, "output", "write `silent: true` to output only the body",
			"the output of a request begins with the status and headers of the response")
	}
	s.Only(with, "method", "url", "headers", "body", "timeout", "silent", "skip_tls_verify")
	command := []string{"curl", "-sSfL"}
	body := document.Text(with, "body")
	// curl chooses GET and POST without an option, but not after a redirect.
	if method = strings.ToUpper(method); method != "GET" && (method != "POST" || body == "") {
		command = append(command, "-X", word(s, with, "method", method))
	}
	for name, v := range with.Map("headers").All() {
		command = append(command, "-H", word(s, with, "headers", name+": "+document.TextOf(v)))
	}
	if body != "" {
		if !typedBody(with) {
			command = append(command, "-H", "'Content-Type: text/plain; charset=utf-8'")
		}
		command = append(command, "--data-raw", word(s, with, "body", body))
	}
	if n := s.Whole(with, "timeout"); n > 0 {
		command = append(command, "-m", strconv.FormatInt(n, 10))
	}
	if on, _ := with.Get("skip_tls_verify"); on == true {
		command = append(command, "-k")
	}
	s.Note(s.Map, "type", "install it where the commands run", false, "step %s runs the program curl", s.Called)
	return s.CommandTask(strings.Join(append(command, word(s, with, "url", address)), " "),
		tasks.Program{POSIX: true, Stops: true})
}

// ssh returns a task that runs a command on another machine. The command must never run locally.
func ssh(s *tasks.Step) *param.Map {
	with := param.Merge(s.Document.Map.Map("ssh"), s.With())
	s.None("output", "env", "working_dir", "shell", "exec")
	text := document.TextOf(document.First(s.Map, "command"))
	if script := document.Text(s.Map, "script"); script != "" {
		text = strings.TrimSpace(text + "\n" + script)
	}
	if v, _ := s.Get("command"); len(keys.ListOf(v)) > 1 {
		s.Refuse(s.Map, "command", "write a single command, or a task for each",
			"several commands of one step are not translated for remote hosts")
	}
	if text == "" {
		s.Refuse(s.Map, "command", "write a command", "the step has no command")
	}
	task := param.New("ssh>", remote(s, text))
	for key, v := range with.All() {
		ofSSH(s, task, with, key, v)
	}
	if !task.Has("host") || !task.Has("user") {
		s.Refuse(s.Map, "type", "write `host` and `user`", "ssh has no host or no user")
	}
	if !task.Has("host_key_checking") && !with.Has("known_host_file") {
		s.Note(s.Map, "type",
			"write `host_key`, or zerodag secrets --project PROJECT --set ssh.known_hosts=@~/.ssh/known_hosts",
			false, "step %s needs the host key of the server", s.Called)
	}
	return task
}

// ofSSH translates a key of the connection to another machine.
func ofSSH(s *tasks.Step, task, with *param.Map, key string, v param.Value) {
	switch key {
	case "host", "user":
		task.Set(key, s.Plain(with, key, document.TextOf(v)))
	case "ip":
		task.Set("host", s.Plain(with, key, document.TextOf(v)))
	case "port":
		if n, err := strconv.ParseInt(document.TextOf(v), 10, 64); err == nil {
			task.Set(key, n)
		} else {
			s.Refuse(with, key, "write a number", "port of ssh is not a number: %s", document.TextOf(v))
		}
	case "key", "password":
		name := map[string]string{"key": "ssh.private_key=@FILE", "password": "ssh.password=-"}[key]
		if key == "password" {
			task.Set("password_auth", true)
		}
		s.Note(with, key, "zerodag secrets --project PROJECT --set "+name, false, "the %s for ssh is a secret in zerodag", key)
	case "strict_host_key":
		if v == false {
			task.Set("host_key_checking", false)
		}
	case "known_host_file":
		s.Note(with, key, "zerodag secrets --project PROJECT --set ssh.known_hosts=@FILE", false,
			"known hosts for ssh are a secret in zerodag")
	case "timeout":
		task.Set("connect_timeout", v)
	default:
		s.Refuse(with, key, "see `zerodag operators ssh`", "%s of ssh is not translated", key)
	}
}

// remote returns a command for a shell on another machine. References that have a value here are replaced; the others
// are left to that shell.
func remote(s *tasks.Step, text string) string {
	var b strings.Builder
	last := 0
	for _, at := range document.Reference().FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(references.Literal(text[last:at[0]]))
		last = at[1]
		whole, inner := text[at[0]:at[1]], strings.Trim(text[at[0]+1:at[1]], "{}")
		switch is := s.Meaning(inner); {
		case is.Expression != "":
			b.WriteString("${" + is.Expression + "}")
		case s.Values[inner].Kind == references.OfSecret:
			b.WriteString("${secret:" + inner + "}")
		case is.Owned || s.Values[inner].Kind != 0 || s.Unavailable(inner):
			s.Refuse(s.Map, "command", "write the value, or pass it as a parameter", "%s has no equivalent", whole)
		default:
			b.WriteString(references.Literal(whole))
		}
	}
	return b.String() + references.Literal(text[last:])
}

// postgres returns a task that runs a query, with the connection from its URL.
func postgres(s *tasks.Step) *param.Map {
	with := s.With()
	s.None("output")
	s.Only(with, "dsn", "transaction", "timeout", "output_format")
	query := strings.TrimSpace(document.TextOf(document.First(s.Map, "command")))
	if script := document.Text(s.Map, "script"); script != "" {
		query = script
	}
	if query == "" {
		s.Refuse(s.Map, "command", "write a query", "the step has no query")
	}
	if on, _ := with.Get("transaction"); on == true {
		s.Refuse(with, "transaction", "`strict_transaction` of `pg>` runs each task exactly once",
			"transaction of a query is not translated")
	}
	task := param.New("pg>", param.New("data", s.Plain(s.Map, "command", query)))
	u, err := url.Parse(document.Text(with, "dsn"))
	if err != nil || u.Hostname() == "" || u.User.Username() == "" ||
		document.Reference().MatchString(document.Text(with, "dsn")) {
		s.Refuse(with, "dsn", "write `host`, `user` and `database`, and set the secret pg.password",
			"the connection is not a plain URL")
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
			s.Refuse(with, "dsn", "see `zerodag operators pg`", "%s of the connection is not translated", key)
		}
	}
	if n := s.Whole(with, "timeout"); n > 0 {
		task.Set("socket_timeout", strconv.FormatInt(n, 10)+"s")
	}
	s.Note(s.Map, "type", "zerodag secrets --project PROJECT --set pg.password=-", false,
		"the database password is a secret in zerodag, and the log does not contain the rows of step %s", s.Called)
	return task
}
