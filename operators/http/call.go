package http

import (
	"context"
	"errors"
	"mime"
	"strings"

	"zerodag/engine/dig"
	"zerodag/engine/param"
	"zerodag/operators"
)

// fetchedFile is where the tasks of a response are stored, in the working folder.
const fetchedFile = "http_call.dig"

func runCall(ctx context.Context, t *operators.Task) (operators.Result, error) {
	r, err := newRequest(t)
	if err != nil {
		return operators.Result{}, err
	}
	if err := r.setCommandURI(); err != nil {
		return operators.Result{}, err
	}
	override, err := r.params.StringOr("content_type_override", "")
	if err != nil {
		return operators.Result{}, err
	}
	most, err := operators.NewParams(t.Config.Map("http_call")).IntOr("max_response_content_size", defaultMaxStored)
	if err != nil {
		return operators.Result{}, err
	}
	answer, err := r.run(ctx)
	if err != nil {
		return operators.Result{}, err
	}
	text, err := answer.text(override)
	if err != nil {
		return operators.Result{}, err
	}
	if err := limit(text, most); err != nil {
		return operators.Result{}, err
	}
	definition, err := asYAML(text, answer.contentType, override)
	if err != nil {
		return operators.Result{}, err
	}
	result, err := load(t, definition)
	if errors.Is(err, operators.ErrUnavailable) && !r.retry {
		err = operators.Failf("The response of %s could not be stored: %v", r.method, err) // a retry would repeat the effect
	}
	return result, err
}

// load logs a fetched definition, stores it and turns it into subtasks.
func load(t *operators.Task, definition string) (operators.Result, error) {
	t.Log.Line(operators.Info, "HttpCallOperator", "Fetched definition for http_call>:\n"+definition)
	name, err := t.FileName(fetchedFile)
	if err != nil {
		return operators.Result{}, err
	}
	if err := t.Files.Write(name, []byte(definition)); err != nil {
		return operators.Result{}, err
	}
	subtasks, err := dig.CalleeText(name, definition, t.Level)
	if err != nil {
		return operators.Result{}, param.Errorf("%v", err)
	}
	return operators.Result{Subtasks: subtasks}, nil
}

// asYAML converts JSON or YAML, according to the Content-Type, to the text of a workflow file.
func asYAML(text, contentType, override string) (string, error) {
	if override == "" && contentType == "" {
		return "", operators.Failf("Content-Type must be set in the HTTP response but not set")
	}
	kind := override
	if kind == "" {
		kind = contentType
	}
	switch mediaType(kind) {
	case "application/x-yaml":
		return text, nil
	case "application/json":
		v, err := param.ParseJSON(text)
		if err == nil {
			_, err = param.AsMap(fetchedFile, v)
		}
		if err != nil {
			return "", operators.Faultf("", "Failed to parse response as JSON: %v", err)
		}
		return string(dig.FormatYAML(v)), nil
	}
	return "", operators.Failf("Unsupported Content-Type (expected application/json or application/x-yaml): %s",
		mediaType(contentType))
}

func mediaType(contentType string) string {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind, _, _ = strings.Cut(contentType, ";")
	}
	return strings.TrimSpace(kind)
}
