package stack

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"zerodag/integration/localstack"
)

// Logs returns the logs of an attempt's tasks, file after file, for all tasks or the named ones.
func (s *Stack) Logs(ctx context.Context, attempt string, tasks ...string) (string, error) {
	var list struct {
		Files []logFile
	}
	if err := s.Get(ctx, "/api/logs/"+attempt+"/files", &list); err != nil {
		return "", err
	}
	files := list.Files // files of one task together, because tests count lines of whole files
	slices.SortStableFunc(files, func(a, b logFile) int { return strings.Compare(a.TaskName, b.TaskName) })
	var all strings.Builder
	for _, f := range files {
		if len(tasks) > 0 && !slices.Contains(tasks, f.TaskName) {
			continue
		}
		text, err := s.logFile(ctx, attempt, f.FileName, f.Direct)
		if err != nil {
			return "", fmt.Errorf("read log %s of attempt %s: %w", f.FileName, attempt, err)
		}
		all.WriteString(text)
	}
	return all.String(), nil
}

// logFile is a log file as the API lists it.
type logFile struct{ FileName, TaskName, Direct string }

// logFile reads a log file, through its link if there is one.
func (s *Stack) logFile(ctx context.Context, attempt, name, link string) (string, error) {
	var packed []byte
	if link == "" {
		status, text, err := s.Call(ctx, http.MethodGet, "/api/logs/"+attempt+"/files/"+url.PathEscape(name), "", nil)
		if err != nil || status != http.StatusOK {
			return "", fmt.Errorf("%d %.200s %w", status, text, err)
		}
		packed = text
	} else {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
		if err != nil {
			return "", err
		}
		answer, err := s.client.Do(r)
		if err != nil {
			return "", err
		}
		defer answer.Body.Close()
		if packed, err = io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK {
			return "", fmt.Errorf("%s %.200s %w", answer.Status, packed, err)
		}
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", err
	}
	plain, err := io.ReadAll(z)
	return string(plain), err
}

// Log returns what a function of the stage logged since a time, on LocalStack.
func (s *Stack) Log(ctx context.Context, function string, since time.Time) ([]string, error) {
	var lines []string
	in := map[string]any{"logGroupName": "/aws/lambda/zerodag-" + s.Stage + "-" + function, "startTime": since.UnixMilli(), "limit": 10000}
	for {
		var page struct {
			Events []struct {
				Timestamp int64
				Message   string
			}
			NextToken string
		}
		if err := filterLog(ctx, in, &page); err != nil {
			return lines, fmt.Errorf("read the log of function %s: %w", function, err)
		}
		for _, e := range page.Events {
			if e.Timestamp >= since.UnixMilli() {
				lines = append(lines, e.Message)
			}
		}
		if page.NextToken == "" {
			return lines, nil
		}
		in["nextToken"] = page.NextToken
	}
}

// filterLog queries CloudWatch; a log that was never written counts as empty.
func filterLog(ctx context.Context, in map[string]any, into any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, localstack.Endpoint(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", "Logs_20140328.FilterLogEvents")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/logs/aws4_request, SignedHeaders=host, Signature=0")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case strings.Contains(string(text), "ResourceNotFoundException"):
		return nil
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	return json.Unmarshal(text, into)
}
