// Package jq runs jq filters on objects: they see no environment and no files, and their results
// are limited.
package jq
