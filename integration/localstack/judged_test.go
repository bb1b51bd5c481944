package localstack_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"zerodag/integration/localstack"
)

// TestExpected sends a request that AWS rejects to LocalStack and to a fake, and announces why. The verdict at the end
// of a run fails unless the judge finds exactly this violation in both.
func TestExpected(t *testing.T) {
	t.Parallel()
	fake := httptest.NewServer(localstack.Judged(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("{}")) })))
	t.Cleanup(fake.Close)
	for _, endpoint := range []string{localstack.Endpoint(), fake.URL} {
		c := localstack.Config(t)
		c.BaseEndpoint = &endpoint
		plain := ssm.NewFromConfig(c)
		localstack.Expected(&c, ".Type: enum")
		name := "/" + localstack.Name()
		_, err := ssm.NewFromConfig(c).PutParameter(t.Context(), &ssm.PutParameterInput{Name: &name, Value: new("v"), Type: types.ParameterType("Secret")})
		if err != nil {
			t.Logf("the emulator rejects it too: %v", err)
			continue
		}
		localstack.Cleanup(t, func(ctx context.Context) error {
			if endpoint == fake.URL {
				return nil
			}
			_, err := plain.DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: &name})
			return err
		})
	}
}
