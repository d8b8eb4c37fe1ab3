module github.com/listwatch/listwatch/e2e

go 1.26.0

replace github.com/listwatch/listwatch => ../

require (
	github.com/google/go-cmp v0.7.0
	github.com/listwatch/listwatch v0.0.0
)
