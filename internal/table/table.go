// Package table reads the Tables in which a server sends rows: the columns that it defines
// for a resource, and the text of cells as kubectl prints them.
package table

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// Columns are the column definitions of a Table.
type Columns []struct {
	Name     string `json:"name"`
	Format   string `json:"format"`
	Priority int    `json:"priority"`
}

// NoColumns are for objects that did not come as a Table.
var NoColumns = Columns{{Name: "Name", Format: "name"}, {Name: "Age"}}

// nameOnly is what is left where a server does not say its columns.
var nameOnly = Columns{{Name: "Name", Format: "name"}}

// Of returns the column definitions in a Table, nil if it has none: a
// server sends them once a page and once a watch.
func Of(table codec.Raw) *Columns {
	if table.GetKind() != "Table" {
		return &NoColumns
	}
	head, _, _ := strings.Cut(table.JSON(), `"rows":[`)
	if !strings.Contains(head, `"columnDefinitions":[`) {
		return nil
	}
	var t struct {
		Columns Columns `json:"columnDefinitions"`
	}
	if table.Decode(&t) != nil || len(t.Columns) == 0 {
		return nil
	}
	return &t.Columns
}

// Fetch asks for the column definitions by a list of one object.
func Fetch[T kube.Object](ctx context.Context, c client.Collection[T]) *Columns {
	const most = 16 << 20
	resp, err := c.Client.Do(ctx, &client.Request{Path: c.Path(), Query: url.Values{"limit": {"1"}}, Accept: c.Accept.List})
	if err != nil {
		return &nameOnly
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return &nameOnly
	}
	t, err := codec.Decode[struct {
		Columns Columns `json:"columnDefinitions"`
	}](b)
	if err != nil || len(t.Columns) == 0 {
		return &nameOnly
	}
	return &t.Columns
}

// Text prints a cell as kubectl does.
func Text(cell any) string {
	switch v := cell.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case map[string]any, []any:
		b, err := codec.Encode(v)
		if err != nil {
			return "<unknown>"
		}
		return string(b)
	}
	return fmt.Sprint(cell)
}
