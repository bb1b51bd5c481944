package serverconfig

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"zerodag/internal/configuration"
	"zerodag/internal/embedded"
	"zerodag/internal/host"
	"zerodag/internal/trace/otlp"
)

// notifies reads how to notify users about attempts and where to send traces.
func notifies(r *configuration.Reading, o *embedded.Options) (err error) {
	if o.Notices, err = readNotices(r, o.Evaluators); err != nil {
		return err
	}
	o.Traces, err = newTraces(r)
	return err
}

// newTraces reads where to send traces (server.md#traces): from the configuration, or otherwise from OpenTelemetry's
// environment variables. nil means that traces are not sent.
func newTraces(r *configuration.Reading) (host.Tracer, error) {
	o := otlp.Options{URL: r.Text("traces.otlp.endpoint", ""), Headers: r.Tree("traces.otlp.headers."), Service: r.Text("traces.service", os.Getenv("OTEL_SERVICE_NAME"))}
	from := "configuration key traces.otlp.endpoint"
	if o.URL != "" {
		o.URL = tracesPath(o.URL)
	} else if o.URL = os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); o.URL != "" {
		from = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	} else if o.URL = os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"); o.URL != "" {
		from, o.URL = "OTEL_EXPORTER_OTLP_ENDPOINT", tracesPath(o.URL)
	}
	if o.URL == "" {
		return nil, nil
	}
	if u, err := url.Parse(o.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%s must be a URL such as http://localhost:4318", from)
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		if err := addEncodedHeaders(o.Headers, name); err != nil {
			return nil, err
		}
	}
	return otlp.New(o), nil
}

// tracesPath adds the signal's path to the address of a collector unless the address already contains it.
func tracesPath(endpoint string) string {
	const path = "/v1/traces"
	if strings.HasSuffix(endpoint, path) {
		return endpoint
	}
	return strings.TrimSuffix(endpoint, "/") + path
}

// addEncodedHeaders adds the headers of an environment variable, NAME=VALUE,NAME=VALUE with encoded values, to the
// headers from the configuration.
func addEncodedHeaders(to map[string]string, variable string) error {
	for pair := range strings.SplitSeq(os.Getenv(variable), ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil {
			return fmt.Errorf("%s must be NAME=VALUE,NAME=VALUE with values in URL encoding", variable)
		}
		if name = strings.TrimSpace(name); to[name] == "" {
			to[name] = decoded
		}
	}
	return nil
}
