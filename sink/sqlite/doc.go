// Package sqlite is the sink that needs no server: a file, or several processes on one
// machine that take turns at it.
//
//	db, err := sqlite.Open(ctx, "cluster.db", sqlite.Options{})
//
// The tables are objects, what exists; history, what changed, in the order of seq; and
// positions. One commit is one transaction, on the disk when it returns. Views with the
// names of built-in resources, such as pods and deployments, have their common columns;
// custom resources are JSON in objects:
//
//	SELECT namespace, name, json_extract(object, '$.spec.size') FROM objects
//	WHERE api_group = 'example.com' AND resource = 'foos';
//
// Other programs may read the file at any time. The driver is modernc.org/sqlite, which
// needs no C.
package sqlite
