package proxy

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"zerodag/integration/localstack"
	"zerodag/integration/localstack/iam"
)

// guard refuses calls that the role of a function does not allow.
type guard struct {
	judge *iam.Judge

	mu      sync.Mutex
	refused []string
	asked   map[string]map[string]int // by function: how many times each action was requested
}

// Guard makes the proxy refuse, from now on, calls that the policies of the calling function's role do not allow. It
// distinguishes functions by the port that Attach gives each.
func (p *Proxy) Guard(ctx context.Context, stage string, j *iam.Judge) error {
	names, err := Functions(ctx, stage)
	if err != nil {
		return err
	}
	for _, f := range names {
		policies, err := policiesOf(ctx, stage, f)
		if err != nil {
			return err
		}
		if err := j.Role(f, policies); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.guard = &guard{judge: j, asked: map[string]map[string]int{}}
	return nil
}

// Refused returns the accesses that were refused, each once, and accesses that cannot be judged.
func (p *Proxy) Refused() []string {
	g := p.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	list := slices.Clone(g.refused)
	slices.Sort(list)
	return slices.Compact(list)
}

// Asked returns how many times each function used each action.
func (p *Proxy) Asked() map[string]map[string]int {
	g := p.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked
}

// isOwn reports whether a request is signed with the credentials of a role: tasks that call AWS bring their own keys.
func isOwn(r *http.Request) bool {
	return r.Header.Get("X-Amz-Security-Token") != "" || r.URL.Query().Get("X-Amz-Security-Token") != ""
}

// refusal returns the response to a call that the caller may not make, or nil if it may.
func (g *guard) refusal(caller string, c Call, r *http.Request, body []byte) *answer {
	if g == nil || caller == "" || !isOwn(r) {
		return nil
	}
	list, err := accesses(c, r, body)
	if err != nil {
		return g.note(caller, c, err.Error())
	}
	for _, a := range list {
		allowed, why, err := g.judge.Allows(caller, a)
		if err != nil {
			why = err.Error()
		}
		g.count(caller, a)
		if !allowed {
			return g.note(caller, c, fmt.Sprintf("%s on %s: %s", a.Action, a.Resource, why))
		}
	}
	return nil
}

func (g *guard) count(caller string, a iam.Access) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.asked[caller] == nil {
		g.asked[caller] = map[string]int{}
	}
	g.asked[caller][a.Action]++
}

func (g *guard) note(caller string, c Call, why string) *answer {
	why = caller + " may not: " + why
	g.mu.Lock()
	g.refused = append(g.refused, why)
	g.mu.Unlock()
	out := denial(c, why)
	return &out
}

// denial returns a service's response to a caller without permission.
func denial(c Call, why string) answer {
	if c.Service == "s3" {
		var text strings.Builder
		xml.EscapeText(&text, []byte(why)) // a builder never fails
		return answer{http.StatusForbidden, http.Header{"Content-Type": {"application/xml"}}, []byte("<Error><Code>AccessDenied</Code><Message>" + text.String() + "</Message></Error>")}
	}
	text, _ := json.Marshal(map[string]string{"__type": "AccessDeniedException", "message": why}) // strings only
	return answer{http.StatusBadRequest, http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Errortype": {"AccessDeniedException"}}, text}
}

// policiesOf reads the policies of a function's role.
func policiesOf(ctx context.Context, stage, function string) ([]json.RawMessage, error) {
	var c struct{ Role string }
	if err := lambda(ctx, http.MethodGet, stage, function, nil, &c); err != nil {
		return nil, err
	}
	role := c.Role[strings.LastIndexByte(c.Role, '/')+1:]
	var list struct {
		Names []string `xml:"ListRolePoliciesResult>PolicyNames>member"`
	}
	if err := askIAM(ctx, url.Values{"Action": {"ListRolePolicies"}, "RoleName": {role}}, &list); err != nil {
		return nil, err
	}
	var policies []json.RawMessage
	for _, name := range list.Names {
		var got struct {
			Document string `xml:"GetRolePolicyResult>PolicyDocument"`
		}
		if err := askIAM(ctx, url.Values{"Action": {"GetRolePolicy"}, "RoleName": {role}, "PolicyName": {name}}, &got); err != nil {
			return nil, err
		}
		text, err := url.QueryUnescape(got.Document)
		if err != nil {
			return nil, fmt.Errorf("read policy %s of role %s: %w", name, role, err)
		}
		policies = append(policies, json.RawMessage(text))
	}
	if len(policies) == 0 {
		return nil, fmt.Errorf("role %s of function %s has no policy", role, function)
	}
	return policies, nil
}

// askIAM calls IAM, whose responses are XML.
func askIAM(ctx context.Context, form url.Values, into any) error {
	form.Set("Version", "2010-05-08")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, localstack.Endpoint(), strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=0")
	out, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer out.Body.Close()
	if out.StatusCode != http.StatusOK {
		return fmt.Errorf("request %s from IAM: %s", form.Get("Action"), out.Status)
	}
	return xml.NewDecoder(out.Body).Decode(into)
}
