package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"zerodag/internal/host"
)

// HandlerPath is the path of the handler: below it are poll, finish and url.
const HandlerPath = "/runner/"

// maxBody limits a runner's request, in bytes: it contains small output files.
const maxBody = 1 << 20

// Handler serves runners: they POST JSON, with the runner's token as bearer token. 410 means that the runner or command
// has ended and must be given up; after any other status except 200, the runner retries the request.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+HandlerPath+"join", serve(s, func(ctx context.Context, token string, j Joining) (any, error) {
		return s.Join(ctx, token, j)
	}))
	mux.HandleFunc("POST "+HandlerPath+"poll", serve(s, func(ctx context.Context, token string, b Beat) (any, error) {
		return s.Poll(ctx, token, b)
	}))
	mux.HandleFunc("POST "+HandlerPath+"finish", serve(s, func(ctx context.Context, token string, f Finished) (any, error) {
		return struct{}{}, s.Finish(ctx, token, f.Key, f.Result)
	}))
	mux.HandleFunc("POST "+HandlerPath+"url", serve(s, func(ctx context.Context, token string, w Wanted) (any, error) {
		url, blob, err := s.URL(ctx, token, w.Key, w.Upload)
		return Given{url, blob}, err
	}))
	mux.HandleFunc("GET "+HandlerPath+"program", s.program)
	return mux
}

// program redirects a starting machine to the program that it will run. The token is in the query because the tools of
// small images resend headers to the redirect's target.
func (s *Service) program(w http.ResponseWriter, r *http.Request) {
	_, err := s.shown(r.Context(), r.URL.Query().Get("token"))
	var url string
	if err == nil {
		url, err = s.Program(r.Context())
	}
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	http.Redirect(w, r, url, http.StatusFound)
}

// Finished reports how a command ended.
type Finished struct {
	Key    string `json:"key"`
	Result Result `json:"result"`
}

// Wanted requests a place for an upload.
type Wanted struct {
	Key    string `json:"key"`
	Upload Upload `json:"upload"`
}

// Given is a place for an upload.
type Given struct {
	URL  string `json:"url"`
	Blob string `json:"blob,omitempty"`
}

func serve[T any](s *Service, do func(context.Context, string, T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if _, err := s.shown(r.Context(), token); err != nil { // before its body is read
			s.refuse(w, r, err)
			return
		}
		var body T
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&body); err != nil {
			http.Error(w, "the request cannot be read: "+err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := do(r.Context(), token, body)
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(answer) //nolint:errcheck // the runner may be gone
	}
}

// refuse responds to a runner's failed request.
func (s *Service) refuse(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, ErrGone):
		http.Error(w, ErrGone.Error(), http.StatusGone)
	case errors.Is(err, host.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		http.Error(w, "not now", http.StatusServiceUnavailable)
	default:
		s.Logger.Error("request of a runner failed", "path", r.URL.Path, "error", err)
		http.Error(w, "internal error", http.StatusInternalServerError)
	}
}
