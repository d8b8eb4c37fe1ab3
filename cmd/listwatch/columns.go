package main

import (
	"context"
	"io"
	"net/url"
	"strings"

	"github.com/listwatch/listwatch/client"
	"github.com/listwatch/listwatch/codec"
	"github.com/listwatch/listwatch/kube"
)

// columns are the column definitions of a Table.
type columns []struct {
	Name     string `json:"name"`
	Format   string `json:"format"`
	Priority int    `json:"priority"`
}

// noColumns are for objects that did not come as a Table.
var noColumns = columns{{Name: "Name", Format: "name"}, {Name: "Age"}}

// nameOnly is what is left where a server does not say its columns.
var nameOnly = columns{{Name: "Name", Format: "name"}}

// columnsOf returns the column definitions in a Table, nil if it has none: a
// server sends them once a page and once a watch.
func columnsOf(table codec.Raw) *columns {
	if table.GetKind() != "Table" {
		return &noColumns
	}
	head, _, _ := strings.Cut(table.JSON(), `"rows":[`)
	if !strings.Contains(head, `"columnDefinitions":[`) {
		return nil
	}
	var t struct {
		Columns columns `json:"columnDefinitions"`
	}
	if table.Decode(&t) != nil || len(t.Columns) == 0 {
		return nil
	}
	return &t.Columns
}

// fetchColumns asks for the column definitions by a list of one object.
func fetchColumns[T kube.Object](ctx context.Context, c client.Collection[T]) *columns {
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
		Columns columns `json:"columnDefinitions"`
	}](b)
	if err != nil || len(t.Columns) == 0 {
		return &nameOnly
	}
	return &t.Columns
}
