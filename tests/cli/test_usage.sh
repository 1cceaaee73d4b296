#!/bin/sh
# SPDX-License-Identifier: MIT
# Help, names and explanations: what a person meets first, and what scripts rely on.
# shellcheck source=tests/support/sh.sh
. "$TXD_SOURCE/tests/support/sh.sh"

# Every line of a file is a name, two or more blanks, and a sentence.
lines_are_names_and_sentences()
{
    [ -s "$1" ] && ! grep -qvE '^[A-Za-z0-9_.@-]+  +[^ ].*$' "$1"
}

every_name_is_explained()
{
    for name in $("$txdiag" list "$1" | sed 's/  .*//'); do
        "$txdiag" explain "$name" >"$scratch/text" || return 1
        [ "$(wc -l <"$scratch/text")" -ge 3 ] || return 1
        grep -qF "$name" "$scratch/text" || return 1
    done
}

exits 0 "--help explains the program" "$txdiag" --help
says "txdiag COMMAND --help"
ok "and does not use stderr" test ! -s "$err"
exits 0 "--version prints one line" "$txdiag" --version
says "txdiag $TXD_VERSION"
exits 2 "no command is a usage error" "$txdiag"
complains "--help"
exits 2 "a misspelt command gets a suggestion" "$txdiag" chekc
complains "nearest: check"
for command in train watch diff diagnose doctor convert; do
    exits 2 "$command, which is not built, does not exist" "$txdiag" $command
done

for command in run check info list plot report explain mask tokenize generate; do
    exits 0 "$command --help" "$txdiag" $command --help
    says "usage: txdiag $command"
    says "  txdiag $command "
    says "Exit status:"
    says "--threads"
    exits 0 "$command -h is the same" "$txdiag" $command -h
    exits 2 "$command without operands" "$txdiag" $command
    complains "usage: txdiag $command"
    exits 2 "$command with an unknown option" "$txdiag" $command --frobnicate
    complains "--frobnicate"
done

for kind in points probes checks faults figures backends; do
    exits 0 "list $kind" "$txdiag" list $kind
    cp "$out" "$scratch/listed"
    ok "list $kind prints names and sentences" \
        lines_are_names_and_sentences "$scratch/listed"
done
exits 0 "list keys" "$txdiag" list keys
says "mask.masked_row"
exits 0 "list checks" "$txdiag" list checks
for law in row_sum causality padding finite position_norm residual_sum score_scale; do
    says "$law "
done
exits 0 "list faults" "$txdiag" list faults
for fault in mask_missing mask_off_by_one mask_inverted mask_after_softmax \
    padding_ignored scale_missing output_projection_missing embedding_too_large \
    position_too_small residual_missing nan_in_weights fully_masked_row; do
    says "$fault "
done
says "selectors: "
exits 0 "list backends" "$txdiag" list backends
for backend in ref64 ref32 cpu32 bf16 fp16; do
    says "$backend "
done
for kind in points probes checks faults backends; do
    ok "every name of list $kind is explained" every_name_is_explained $kind
done

exits 0 "explain takes a full name" "$txdiag" explain layers.3.attn.weights
says "attn.weights is a point"
exits 0 "explain takes a key" "$txdiag" explain mask.window
says "mask.window"
exits 0 "explain takes a column of the row statistics" "$txdiag" explain entropy
says "entropy"
exits 2 "a name that is none gets the nearest" "$txdiag" explain causalty
complains "nearest: causality"
exits 0 "explain takes the last part of a key" "$txdiag" explain d_model
says "model.d_model (int, required"
says "model : { d_model = ...; };"
exits 0 "and of several keys" "$txdiag" explain layers
says "record[].layers"
says "model.layers[].window"
exits 0 "explain takes what other programs call a key" "$txdiag" explain hidden_size
says "hidden_size is called model.d_model here."
exits 2 "a typing mistake in the last part" "$txdiag" explain n_layer_
complains "nearest: model.n_layers"
exits 0 "a name of two things is explained as both" "$txdiag" explain input.memory
says "input.memory is a point."
says "input.memory is a group of model.cfg."
exits 0 "laws are also listed by that name" "$txdiag" list laws
says "causality "
exits 0 "explain takes a group of keys" "$txdiag" explain record
says "record is a group of model.cfg."
says "record[].probe (string, required)"
says "record = ( { probe = ...; }, ... );"

exits 0 "list faults says which can act in a model" \
    "$txdiag" list faults "$TXD_SOURCE/examples/mini.cfg"
says "can act here"
lines=$(wc -l <"$out")
ok "a line per fault" test "$lines" -eq "$("$txdiag" list faults | wc -l)"
exits 0 "a model without padding" "$txdiag" list faults \
    "$TXD_SOURCE/examples/mini.cfg" --set 'input.tokens=[1,2,3]'
cp "$out" "$scratch/listed"
ok "padding_ignored cannot act there" \
    grep -q '^padding_ignored  *cannot act here: ' "$scratch/listed"

if [ -w /dev/full ]; then
    ok "a full stdout is not success" sh -c "
        '$txdiag' list points >/dev/full 2>'$scratch/text'
        test \$? -eq 2 && grep -q 'standard output' '$scratch/text'"
else
    skip "a full stdout is not success" "no /dev/full"
fi
finish
