package gcp

import (
	"context"
	"regexp"
	"strconv"
	"sync"
	"time"

	"zerodag/engine/param"
	"zerodag/operators"
)

// waitOperator returns `gcs_wait>`.
func waitOperator() operators.Operator {
	return operators.Operator{Name: "gcs_wait", Summary: "waits for an object in Cloud Storage", Retries: true, Run: wait}
}

// objectAddress matches the address of an object in a command.
var objectAddress = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:gs://)?([^/]+)/((?s:.+))$`) })

// waitKey is the task's state: {iteration, retry}.
const waitKey = "exists"

func wait(ctx context.Context, t *operators.Task) (operators.Result, error) {
	w, err := newWork(t, "gcs", scopeStorage, "GcsWaitOperatorFactory")
	if err != nil {
		return operators.Result{}, err
	}
	bucket, object, err := w.object()
	if err != nil {
		return operators.Result{}, err
	}
	p, err := readProgress(w.State.Map(waitKey))
	if err != nil {
		return operators.Result{}, err
	}
	found, err := w.client.Object(ctx, bucket, object)
	if err != nil {
		n := p.retries
		p.retries++
		return operators.Result{}, w.failed(ctx, "Operation failed", err, n, under(w.State, waitKey, p.tree(nil)))
	}
	if found == nil {
		after := nextLook(p.looks)
		p.looks, p.retries = p.looks+1, 0
		w.log(operators.Debug, "Object '%s/%s' does not yet exist: checking again in %ds", bucket, object, after/time.Second)
		return operators.Result{}, &operators.Later{After: after, State: under(w.State, waitKey, p.tree(nil))}
	}
	return operators.Result{Store: param.New("gcs_wait", param.New("last_object", param.New("metadata", metadata(found)))),
		ResetStore: [][]string{{"gcs_wait", "last_object"}}}, nil
}

// object returns the object that the task waits for.
func (w *work) object() (bucket, object string, err error) {
	command, err := w.params.StringOr("_command", "")
	if err != nil {
		return "", "", err
	}
	if bucket, err = w.params.StringOr("bucket", ""); err != nil {
		return "", "", err
	}
	if object, err = w.params.StringOr("object", ""); err != nil {
		return "", "", err
	}
	named, inParts := w.params.Has("_command"), w.params.Has("bucket") || w.params.Has("object")
	if named == inParts || !named && (bucket == "" || object == "") {
		return "", "", param.Errorf("Either the gcs_wait operator command or both 'bucket' and 'object' parameters must be set")
	}
	if !named {
		return bucket, object, nil
	}
	m := objectAddress().FindStringSubmatch(command)
	if m == nil || m[1] == "gs:" { // gs://BUCKET/ has no object
		return "", "", param.Errorf("Illegal GCS URI or path: %s", command)
	}
	return m[1], m[2], nil
}

// metadata returns what Digdag stores about an object: numbers for the numeric text that Google sends, and times in
// Digdag's own form.
func metadata(object *param.Map) *param.Map {
	out := object.Clone()
	for key, v := range object.All() {
		text, isText := v.(string)
		if !isText {
			continue
		}
		switch key {
		case "generation", "metageneration", "size":
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				out.Set(key, n)
			}
		case "timeCreated", "updated", "timeDeleted", "timeStorageClassUpdated", "retentionExpirationTime":
			if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
				_, offset := at.Zone()
				out.Set(key, param.New("value", at.UnixMilli(), "dateOnly", false, "timeZoneShift", int64(offset/60)))
			}
		}
	}
	return out
}
