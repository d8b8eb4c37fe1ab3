// Package until ends a watch when the objects are as --until, --until-any and --fail-on say.
package until
