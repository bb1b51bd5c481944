package conformance

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Remote is a server that speaks the REST API; its workspaces are below Temp.
type Remote struct {
	URL   string // may have a path
	Temp  string
	Token string // the bearer token; "" for none
}

// remoteCase is a case that is running on a server.
type remoteCase struct {
	*world
	ctx       context.Context // ends with the case's time limit
	server    Remote
	projectID string
	attempts  map[string]object // by the case's names for them
	started   []string          // names in the order of their starts
	extra     []string          // ids of other projects
}

// RunOn carries out a case on a server and returns what conform.py would have recorded. out is an empty folder. An
// error is about the surroundings, not about the case.
func (c Case) RunOn(ctx context.Context, server Remote, s *Surroundings, out string) (object, error) {
	limited, cancel := context.WithTimeout(ctx, time.Duration(c.TimeLimit*float64(time.Second)))
	defer cancel()
	r := &remoteCase{server: server, ctx: limited, attempts: map[string]object{}, world: &world{Case: c, out: out,
		project: out + "-project", Surroundings: s,
		copies: regexp.MustCompile(regexp.QuoteMeta(server.Temp) + `/[\w./+=^@:-]{0,200}?workspace/[^\s/:'"]+`)}}
	result, err := r.run()
	r.ctx, cancel = context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return result, errors.Join(err, r.clean())
}

func (r *remoteCase) run() (object, error) {
	if err := r.deleteProject(r.name()); err != nil {
		return nil, err
	}
	pushed, err := r.pushed(r.name(), filepath.Join(r.Dir, r.ProjectDir), "r1", r.PushQuery)
	if err != nil {
		return nil, err
	}
	result := object{"push": pushed, "attempts": object{}}
	if pushed["ok"] == true {
		if err := r.steps(result); err != nil {
			return nil, err
		}
	}
	if fired, err := r.firedMeanwhile(); err != nil || fired {
		return nil, cmp.Or(err, errFired)
	}
	if r.Files != nil {
		result["files"] = r.readFiles()
	}
	if r.Mails != "" {
		var mails any = r.mail.take(r.Mails)
		result["mails"] = r.normValue(mails)
	}
	return result, nil
}

// errFired means that the server has fired a schedule of the case in the middle of the case.
var errFired = errors.New("the server started a session of the case's schedule in the meantime")

// firedMeanwhile reports whether the server has sessions even though the case starts none. Its schedules begin in the past and
// are read before the recorded server checks for due ones, but a deployed stack checks once a minute, possibly in the
// middle of the case.
func (r *remoteCase) firedMeanwhile() (bool, error) {
	if r.projectID == "" || len(r.started) > 0 || !strings.Contains(r.PushQuery, "schedule_from=") {
		return false, nil
	}
	_, answer, err := r.call(http.MethodGet, "/api/projects/"+r.projectID+"/sessions", nil)
	return len(asList(asObject(answer)["sessions"])) > 0, err
}

func (r *remoteCase) steps(result object) error {
	for key, value := range r.Secrets {
		if _, _, err := r.call(http.MethodPut, "/api/projects/"+r.projectID+"/secrets/"+url.PathEscape(key), object{"value": value}); err != nil {
			return err
		}
	}
	steps := r.Steps
	if len(steps) == 0 {
		steps = []Step{{Op: "start", As: "a1"}, {Op: "wait_done", Attempt: "a1"}}
	}
	var results []any
	for _, s := range steps {
		v, err := r.step(s)
		if err != nil {
			return fmt.Errorf("step %s: %w", s.Op, err)
		}
		if v != nil {
			results = append(results, object{"op": s.Op, "result": v})
		}
	}
	if results != nil {
		result["steps"] = results
	}
	for _, name := range r.started {
		a, err := r.describe(r.attempts[name])
		if err != nil {
			return err
		}
		result["attempts"].(object)[name] = a
	}
	return nil
}

// clean kills attempts that are still running and deletes the projects.
func (r *remoteCase) clean() error {
	for _, a := range r.attempts {
		if _, _, err := r.call(http.MethodPost, "/api/attempts/"+text(a["id"])+"/kill", object{}); err != nil {
			return err
		}
	}
	for _, id := range append(r.extra, r.projectID) {
		if id == "" {
			continue
		}
		if _, _, err := r.call(http.MethodDelete, "/api/projects/"+id, nil); err != nil {
			return err
		}
	}
	return nil
}

func (r *remoteCase) name() string { return "case-" + r.Name }

func (r *remoteCase) deleteProject(name string) error {
	_, found, err := r.call(http.MethodGet, "/api/projects?name="+url.QueryEscape(name), nil)
	for _, p := range asList(asObject(found)["projects"]) {
		_, _, failed := r.call(http.MethodDelete, "/api/projects/"+text(asObject(p)["id"]), nil)
		err = errors.Join(err, failed)
	}
	return err
}

// pushed pushes a folder as a revision and returns the part of the response that recordings contain.
func (r *remoteCase) pushed(project, folder, revision, query string) (object, error) {
	body, err := archive(folder, r.database)
	if err != nil {
		return nil, err
	}
	path := "/api/projects?project=" + url.QueryEscape(project) + "&revision=" + revision
	if query != "" {
		path += "&" + query
	}
	status, answer, err := r.send(http.MethodPut, path, "application/gzip", body)
	if err != nil {
		return nil, err
	}
	if status == http.StatusOK {
		id := text(asObject(answer)["id"])
		if project == r.name() {
			r.projectID = id
		} else {
			r.extra = append(r.extra, id)
		}
		return object{"ok": true}, nil
	}
	result := r.refusal(status, answer)
	result["ok"] = false
	return result, nil
}

func (r *remoteCase) refusal(status int, answer any) object {
	if message, ok := asObject(answer)["message"].(string); ok {
		return object{"status": float64(status), "message": r.norm(message)}
	}
	return object{"status": float64(status), "body": r.normValue(answer)}
}

// call sends a JSON body, or none, and returns the status and the decoded response.
func (r *remoteCase) call(method, path string, body any) (int, any, error) {
	var content []byte
	if body != nil {
		var err error
		if content, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
	}
	return r.send(method, path, "application/json", content)
}

func (r *remoteCase) send(method, path, contentType string, body []byte) (int, any, error) {
	status, content, err := r.fetch(method, path, contentType, body)
	if err != nil || len(content) == 0 {
		return status, nil, err
	}
	var v any
	if json.Unmarshal(content, &v) != nil {
		v = strings.ToValidUTF8(string(content), "\uFFFD")
	}
	return status, v, nil
}

func (r *remoteCase) fetch(method, path, contentType string, body []byte) (int, []byte, error) {
	// Even after a step's time limit, requests to the server must be answered.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, r.server.URL+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Content-Type", contentType)
	if r.server.Token != "" {
		request.Header.Set("Authorization", "Bearer "+r.server.Token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	return answer.StatusCode, content, err
}

// archive packs a folder, with the address of the database in its files; the description of the case is not part of the
// project.
func archive(folder string, database databasePeer) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(folder, path)
		if err != nil || d.IsDir() || rel == "case.json" || rel == "expected.json" {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		link := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			if link, err = os.Readlink(path); err != nil {
				return err
			}
		}
		header, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		header.Name, header.Format = filepath.ToSlash(rel), tar.FormatPAX
		if !info.Mode().IsRegular() {
			return w.WriteHeader(header)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		content = database.here(content)
		header.Size = int64(len(content))
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	err = errors.Join(err, w.Close(), z.Close())
	return b.Bytes(), err
}

// text returns an ID as text; it is a string, or a number in Digdag's earlier responses.
func text(v any) string {
	if n, isNumber := v.(float64); isNumber {
		return strconv.FormatInt(int64(n), 10)
	}
	s, _ := v.(string)
	return s
}
