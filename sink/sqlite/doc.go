// Package sqlite is a sink that needs no server: it writes to one file, which several
// processes on one machine may open.
//
//	db, err := sqlite.Open(ctx, "cluster.db", sqlite.Options{})
//
// The tables are objects, with the current objects; history, with their changes in the order
// of seq; and positions. One commit is one transaction, which is on the disk when Commit
// returns. Views with the names of built-in resources, such as pods and deployments, have
// their common columns; custom resources are JSON in objects:
//
//	SELECT namespace, name, json_extract(object, '$.spec.size') FROM objects
//	WHERE api_group = 'example.com' AND resource = 'foos';
//
// Other programs may read the file at any time. The driver is modernc.org/sqlite, which
// needs no C.
package sqlite
