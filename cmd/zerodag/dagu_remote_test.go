package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"zerodag/cmd/zerodag/internal/cli"
	"zerodag/operators/operatortest/postgres"
	"zerodag/operators/operatortest/sshd"
)

// importAndRun translates a Dagu workflow, runs the result, and returns the exit code and the output of both.
func importAndRun(t *testing.T, text string, args ...string) (code int, out string) {
	t.Helper()
	dir := t.TempDir()
	file, project := filepath.Join(dir, "in.yaml"), filepath.Join(dir, "p")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	s := cli.Streams{In: strings.NewReader(""), Out: &b, Err: &b, ProgramVersion: version()}
	if code := run(t.Context(), []string{"import", "dagu", file, "-o", project}, s); code != 0 {
		t.Fatalf("import ends with %d\n%s", code, b.Bytes())
	}
	code = run(t.Context(), append([]string{"run", filepath.Join(project, "in.dig"), "--project", project, "--no-save"}, args...), s)
	return code, b.String()
}

// TestDaguHTTP checks that requests reach the server as Dagu's do: through `http>` or, if the response is stored,
// through curl.
func TestDaguHTTP(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, fmt.Sprintf("%s %s type=%q key=%q body=%q", r.Method, r.URL, r.Header.Get("Content-Type"), r.Header.Get("X-Key"), body))
		mu.Unlock()
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/data", http.StatusFound)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			fmt.Fprintln(w, `{"n": 5}`)
		}
	}))
	defer server.Close()
	result := filepath.Join(t.TempDir(), "result")
	code, out := importAndRun(t, strings.ReplaceAll(`type: chain
params: [{RESULT: /dev/null}, {WHO: Ada}]
steps:
  - action: http.request
    with: {method: POST, url: "URL/hook?x=1", headers: {X-Key: "of ${WHO}"}, body: '{"who": "${WHO}"}'}
  - {type: http, command: GET URL/q, with: {query: {a: "1 2"}}}
  - {action: http.request, with: {method: put, url: URL/h, headers: {content-type: application/json}, body: "{}"}}
  - {id: get, action: http.request, with: {method: GET, url: URL/data, silent: true}, output: DATA}
  - {id: post, action: http.request, with: {method: POST, url: URL/moved, silent: true, body: abc}, output: MOVED}
  - run: echo "$DATA ${DATA.n} $MOVED" >> "$RESULT"
  - {action: http.request, with: {method: DELETE, url: URL/broken}}
  - run: echo never >> "$RESULT"
`, "URL", server.URL), "-p", "RESULT="+result)
	if code == 0 {
		t.Error("a failed request is no failure")
	}
	want := []string{
		`POST /hook?x=1 type="text/plain; charset=utf-8" key="of Ada" body="{\"who\": \"Ada\"}"`,
		`GET /q?a=1+2 type="" key="" body=""`,
		`PUT /h type="application/json" key="" body="{}"`,
		`GET /data type="" key="" body=""`,
		`POST /moved type="text/plain; charset=utf-8" key="" body="abc"`,
		`GET /data type="text/plain; charset=utf-8" key="" body=""`, // curl keeps the header after a redirect
		`DELETE /broken type="" key="" body=""`,
	}
	lines, _ := os.ReadFile(result)
	if diff := cmp.Diff(want, got) + cmp.Diff("{\"n\": 5} 5 {\"n\": 5}\n", string(lines)); diff != "" {
		t.Errorf("%s\n%s", diff, out)
	}
}

// TestDaguSSH checks that the command of an ssh step runs on the other machine, with the values of this run and the
// variables of that machine. It also checks that after an ignored failure the other steps run and the run ends with 1,
// as in Dagu.
func TestDaguSSH(t *testing.T) {
	t.Parallel()
	server := sshd.Start(t)
	code, out := importAndRun(t, fmt.Sprintf(`type: chain
params: [{WHO: Ada}]
ssh: {user: %s, host: 127.0.0.1, port: %d, key: ~/.ssh/id}
steps:
  - {id: there, run: 'echo "for ${WHO} on $SSH_CONNECTION" | cut -d " " -f 1-4'}
  - {id: fails, run: exit 7, continue_on: failed}
`, server.User, server.Port), "-X", "secrets.ssh.private_key="+server.Key, "-X", "secrets.ssh.known_hosts="+server.KnownHosts)
	if code != 1 || !strings.Contains(out, "+in+there | for Ada on 127.0.0.1\n") || !strings.Contains(out, "+in+fails | failed: Command failed with code 7") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestDaguMail checks that emails in both forms arrive.
func TestDaguMail(t *testing.T) {
	t.Parallel()
	address, mails := mailServer(t)
	host, port, _ := net.SplitHostPort(address)
	code, out := importAndRun(t, `type: chain
params: [{WHO: Ada}]
steps:
  - executor: {type: mail, config: {to: a@example.com, from: b@example.com, subject: "Hi ${WHO}", message: "Text of ${WHO}"}}
  - {action: mail.send, with: {to: [c@example.com, d@example.com], from: b@example.com, subject: Second, message: Bye}}
`, "-X", "config.mail.host="+host, "-X", "config.mail.port="+port, "-X", "config.mail.tls=false")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	for i, parts := range [][]string{
		{"MAIL FROM:<b@example.com>", "RCPT TO:<a@example.com>", "Subject: Hi Ada", "Text of Ada"},
		{"RCPT TO:<c@example.com>", "RCPT TO:<d@example.com>", "Subject: Second", "Bye"},
	} {
		mail := <-mails
		for _, part := range parts {
			if !strings.Contains(mail, part) {
				t.Errorf("mail %d lacks %q:\n%s", i+1, part, mail)
			}
		}
	}
}

// mailServer starts a server that accepts emails and passes on each conversation.
func mailServer(t *testing.T) (address string, mails <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	out := make(chan string, 10)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			out <- conversation(c)
		}
	}()
	return listener.Addr().String(), out
}

func conversation(c net.Conn) string {
	defer c.Close()
	var b strings.Builder
	fmt.Fprint(c, "220 ready\r\n")
	inData := false
	for lines := bufio.NewScanner(c); lines.Scan(); {
		line := lines.Text()
		b.WriteString(line + "\n")
		switch {
		case inData && line != ".":
		case strings.HasPrefix(line, "DATA"):
			inData = true
			fmt.Fprint(c, "354 go on\r\n")
		case strings.HasPrefix(line, "QUIT"):
			fmt.Fprint(c, "221 bye\r\n")
			return b.String()
		default:
			inData = false
			fmt.Fprint(c, "250 ok\r\n")
		}
	}
	return b.String()
}

// TestDaguPostgres checks that the statements of a step run in the database of its URL, with values where Dagu puts
// them: not between single quotes.
func TestDaguPostgres(t *testing.T) {
	t.Parallel()
	server := postgres.Start(t)
	dsn := "postgres://" + postgres.User + "@127.0.0.1:" + strconv.Itoa(server.Port) + "/" + postgres.Database + "?sslmode=disable"
	code, out := importAndRun(t, `type: chain
params: [{AGE: 36}]
steps:
  - {action: postgres.query, with: {dsn: "`+dsn+`", query: "CREATE TABLE people (age int, name text)"}}
  - {type: postgres, with: {dsn: "`+dsn+`"}, command: "INSERT INTO people VALUES (${AGE}, '${AGE}')"}
  - {type: postgres, with: {dsn: "`+dsn+`"}, script: "SELECT 1 / (SELECT count(*) FROM people WHERE age = 36 AND length(name) = 6)"}
`, "-X", "secrets.pg.password="+postgres.Password)
	if code != 0 {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestDaguDotenv checks that the import names a variable file if Dagu would read it, and only then.
func TestDaguDotenv(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, text string
		told             bool
	}{
		{"beside", ".env", "steps: [{run: echo}]", true},
		{"none", "other", "steps: [{run: echo}]", false},
		{"named", ".env", "dotenv: []\nsteps: [{run: echo}]", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, text := range map[string]string{c.file: "A=1\n", "in.yaml": c.text} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			code := run(t.Context(), []string{"import", "dagu", filepath.Join(dir, "in.yaml"), "-o", filepath.Join(dir, "p")}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &out, ProgramVersion: version()})
			if told := strings.Contains(out.String(), "zerodag run --env-file "+filepath.Join(dir, ".env")); code != 0 || told != c.told {
				t.Errorf("exit code %d\n%s", code, out.Bytes())
			}
		})
	}
}
