package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"zerodag/internal/httpapi/wire"
)

// read decodes the JSON body into v; fields that are not known are ignored. optional lets
// the body be missing.
func (c *call) read(v any, optional bool) error {
	body, err := unpacked(c.w, c.r, min(c.Limits.Body, cmp.Or(c.mostBody, c.Limits.Body)))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(body)
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return err
		}
		return wire.Invalid("Body cannot be read: %v", err)
	}
	if t := strings.TrimSpace(string(text)); t == "" || t == "null" {
		if optional {
			return nil
		}
		return wire.Invalid("A JSON body is required")
	}
	if err := json.Unmarshal(text, v); err != nil {
		return wire.InvalidJSON(err)
	}
	return nil
}
