package endpoint

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"zerodag/internal/httpapi/wire"
)

// Read decodes the JSON body into v; unknown fields are ignored. With optional, the body may be missing.
func (c *Call) Read(v any, optional bool) error {
	body, err := unpacked(c.W, c.R, min(c.Limits.Body, cmp.Or(c.MostBody, c.Limits.Body)))
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

// Reason reads the reason for a pause from a body that may be missing.
func (c *Call) Reason() (string, error) {
	var b struct {
		Reason *string `json:"reason"`
	}
	if err := c.Read(&b, true); err != nil || b.Reason == nil {
		return "", err
	}
	c.Why = *b.Reason
	return c.Why, nil
}
