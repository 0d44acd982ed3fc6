"""Makes two language models on the spot: `python tiny_model.py FOLDER`. Nothing is downloaded.

`FOLDER/untrained` has random weights, and says nothing that makes sense. `FOLDER/calling` has weights that were written
by hand: it looks at a contact, and after the answer it says that its work is done.
"""

import sys
from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

_SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
_MESSAGES = (
    "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}{{ call.function.name }} {{ call.function.arguments }}{% endfor %}"
    "<|im_end|>\n{% endfor %}"
)
_TEMPLATE = _MESSAGES + "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
# The prompt of a reply to a tool's answer ends in another token than the prompt of the first reply.
_FIRST, _LATER = "\n", "\n\n"
_CALLING_TEMPLATE = (
    _MESSAGES + "{% if add_generation_prompt %}<|im_start|>assistant"
    r"{{ '\n\n' if messages[-1].role == 'tool' else '\n' }}{% endif %}"
)
# As models of this architecture write calls; each is one token here.
_LOOK = (
    '<tool_call>\n{"name": "call_operation", '
    '"arguments": {"operation": "crm.contacts.list", "arguments": {"limit": 1}}}\n</tool_call>'
)
_FINISH = '<tool_call>\n{"name": "finish_work", "arguments": {}}\n</tool_call>'
_SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 16_384,
}


def make_tokenizer(template: str, whole: tuple[str, ...] = ()) -> PreTrainedTokenizerFast:
    """One token for each byte, for the marks of a chat, and for each of these texts."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate([*_SPECIAL, *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in whole])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=_SPECIAL,
        chat_template=template,
    )


def make_untrained_model(tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        num_hidden_layers=2,
        bos_token_id=tokenizer.convert_tokens_to_ids("<|im_start|>"),
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **_SHAPE,
    )
    return LlamaForCausalLM(config)


def make_calling_model(tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    """A model whose layers add nothing, so that each token alone decides which one follows."""
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        num_hidden_layers=1,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **_SHAPE,
    )
    model = Qwen2ForCausalLM(config)
    followers = {_FIRST: _LOOK, _LATER: _FINISH, _LOOK: "<|im_end|>", _FINISH: "<|im_end|>"}
    with torch.no_grad():
        (layer,) = model.model.layers
        for weights in (layer.self_attn.o_proj, layer.mlp.down_proj, model.model.embed_tokens, model.lm_head):
            weights.weight.zero_()
        for place, (text, follower) in enumerate(followers.items()):
            model.model.embed_tokens.weight[_find_token(tokenizer, text), place] = 1.0
            model.lm_head.weight[_find_token(tokenizer, follower), place] = 10.0
    return model


def _find_token(tokenizer: PreTrainedTokenizerFast, text: str) -> int:
    (token,) = tokenizer.encode(text, add_special_tokens=False)
    return int(token)


def main(folder: Path) -> None:
    torch.manual_seed(0)
    untrained, calling = make_tokenizer(_TEMPLATE), make_tokenizer(_CALLING_TEMPLATE, (_LATER, _LOOK, _FINISH))
    for name, tokenizer, make in (
        ("untrained", untrained, make_untrained_model),
        ("calling", calling, make_calling_model),
    ):
        make(tokenizer).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)


main(Path(sys.argv[1]))
