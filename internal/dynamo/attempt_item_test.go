package dynamo

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"zerodag/engine/param"
	"zerodag/internal/host"
)

// TestAttemptItem proves that labels are read back unchanged from an attempt's item, and that an attempt without labels
// has no attribute for them.
func TestAttemptItem(t *testing.T) {
	t.Parallel()
	db, ctx := New(aws.Config{}, Options{}), t.Context()
	a := host.Attempt{ID: 7, Params: param.New("a", "b")}
	plain, err := db.attemptItem(ctx, a)
	if err != nil || plain.Has(aLabels) {
		t.Errorf("without labels: %v, %v", plain, err)
	}
	a.Labels = param.New("team", "sales", "a", "1")
	labeled, err := db.attemptItem(ctx, a)
	if err != nil || len(labeled) != len(plain)+1 {
		t.Errorf("with labels: %v, %v", labeled, err)
	}
	if got, err := db.attemptOf(ctx, labeled); err != nil || param.Text(got.Labels) != param.Text(a.Labels) {
		t.Errorf("read: %+v, %v", got, err)
	}
}
