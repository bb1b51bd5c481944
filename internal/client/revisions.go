package client

import (
	"context"
	"math"
	"strconv"
)

// AllRevisions lists all revisions of a project, newest first.
func (c *Client) AllRevisions(ctx context.Context, project ID) ([]Revision, error) {
	all, err := c.Revisions(ctx, project, "")
	for err == nil && len(all) > 0 {
		page, pageErr := c.olderRevisions(ctx, project, all)
		if pageErr != nil || len(page) == 0 {
			return all, pageErr
		}
		all = append(all, page...)
	}
	return all, err
}

// pageSize is the maximum number of revisions that a server lists.
const pageSize = 100

// olderRevisions returns the page after the known revisions. The API pages by the id of a revision but does not show
// ids. Because ids grow with time, the id of the oldest known revision is the largest one whose page begins with an
// unknown revision. A binary search finds it.
func (c *Client) olderRevisions(ctx context.Context, project ID, known []Revision) ([]Revision, error) {
	if len(known)%pageSize != 0 {
		return nil, nil
	}
	names := map[string]bool{}
	for _, r := range known {
		names[r.Revision] = true
	}
	var best []Revision
	low, high := int64(0), int64(math.MaxInt32) // Digdag's revision ids are no larger
	for high-low > 1 {
		middle := low + (high-low)/2
		page, err := c.Revisions(ctx, project, ID(strconv.FormatInt(middle, 10)))
		if err != nil {
			return nil, err
		}
		if len(page) > 0 && names[page[0].Revision] {
			high = middle
			continue
		}
		low, best = middle, page
	}
	return best, nil
}
