package guard

import (
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"fencepost/graph/scalar"
)

// validationRules is the specification's set, with the rules that suggest names replaced by their twins that do not:
// a guess at a name must not reveal the names that there are.
func validationRules() *rules.Rules {
	set := rules.NewDefaultRules()
	for loud, quiet := range map[*core.Rule]core.Rule{
		&rules.KnownArgumentNamesRule:  rules.KnownArgumentNamesRuleWithoutSuggestions,
		&rules.KnownTypeNamesRule:      rules.KnownTypeNamesRuleWithoutSuggestions,
		&rules.ValuesOfCorrectTypeRule: rules.ValuesOfCorrectTypeRuleWithoutSuggestions,
	} {
		set.RemoveRule(loud.Name)
		set.AddRule(quiet.Name, quiet.RuleFunc)
	}
	set.AddRule(strictLiterals, refuseLooseLiterals)
	return set
}

const strictLiterals = "StrictLiterals"

// refuseLooseLiterals refuses the literals that the specification refuses and gqlparser's own rule lets pass.
func refuseLooseLiterals(observers *core.Events, addError core.AddErrFunc) {
	observers.OnValue(func(_ *core.Walker, value *ast.Value) {
		if value.Definition != nil && !literalFits(value) {
			addError(core.At(value.Position))
		}
	})
}

func literalFits(value *ast.Value) bool {
	switch {
	case value.Kind == ast.NullValue, value.Kind == ast.Variable:
		return true
	case value.Kind == ast.ObjectValue:
		return value.Definition.Kind == ast.InputObject
	case value.Definition.Name == "Int" && value.Kind == ast.IntValue:
		_, err := strconv.ParseInt(value.Raw, 10, 32)
		return err == nil
	case value.Definition.Name == "DateTime":
		_, err := scalar.UnmarshalDateTime(value.Raw)
		return err == nil && (value.Kind == ast.StringValue || value.Kind == ast.BlockValue)
	default:
		return true
	}
}

// ruleTexts has a text for each rule. The library's own texts repeat names and values of the document, a key or a payload
// among them; where in the document the fault lies is told by the error's location.
var ruleTexts = map[string]string{
	"FieldsOnCorrectType":          "A selected field does not exist on its type.",
	"FragmentsOnCompositeTypes":    "A fragment is on a type that has no fields.",
	"KnownArgumentNames":           "An argument does not exist.",
	"KnownDirectives":              "A directive does not exist, or not in this place.",
	"KnownFragmentNames":           "A fragment does not exist.",
	"KnownRootType":                "The schema has no operations of this kind.",
	"KnownTypeNames":               "A type does not exist.",
	"LoneAnonymousOperation":       "An operation without a name must be the only one.",
	"MaxIntrospectionDepth":        "The introspection is nested too deeply.",
	"NoFragmentCycles":             "A fragment contains itself.",
	"NoUndefinedVariables":         "A variable is not declared.",
	"NoUnusedFragments":            "A fragment is not used.",
	"NoUnusedVariables":            "A variable is not used.",
	"OverlappingFieldsCanBeMerged": "Two different fields have the same name in the answer.",
	"PossibleFragmentSpreads":      "A fragment is spread where its type cannot occur.",
	"ProvidedRequiredArguments":    "A required argument is missing.",
	"ScalarLeafs":                  "A field needs a selection of subfields, or cannot have one.",
	"SingleFieldSubscriptions":     "A subscription must select exactly one field.",
	"UniqueArgumentNames":          "An argument is given twice.",
	"UniqueDirectivesPerLocation":  "A directive is given twice.",
	"UniqueFragmentNames":          "Two fragments have the same name.",
	"UniqueInputFieldNames":        "A member of an input object is given twice.",
	"UniqueOperationNames":         "Two operations have the same name.",
	"UniqueVariableNames":          "A variable is declared twice.",
	"ValuesOfCorrectType":          badLiteral,
	"VariablesAreInputTypes":       "A variable is of a type that is no input type.",
	"VariablesInAllowedPosition":   "A variable is used where its type is not allowed.",
	strictLiterals:                 badLiteral,
}

const badLiteral = "A value is not one of the expected type, or a required part of it is missing."

// ruleText is the text of a rule. An error of no rule is about which operation to run.
func ruleText(rule string) string {
	text, ok := ruleTexts[strings.TrimSuffix(rule, "WithoutSuggestions")]
	if !ok {
		return "The document has no such operation, or several of which operationName must select one."
	}
	return text
}
