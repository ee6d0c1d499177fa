"""The models whose training steps are measured: random weights, small sizes, no dropout."""

import torch


def resnet18():
    import torchvision

    model = torchvision.models.resnet18(num_classes=10)
    return model, lambda: torch.randn(8, 3, 64, 64), 10


def vit():
    import torchvision

    model = torchvision.models.VisionTransformer(
        image_size=32, patch_size=8, num_layers=4, num_heads=4, hidden_dim=128, mlp_dim=256, num_classes=10
    )
    torch.nn.init.normal_(model.heads.head.weight, std=0.02)  # torchvision starts with zeros
    return model, lambda: torch.randn(4, 3, 32, 32), 10


class _Logits(torch.nn.Module):
    """A model of transformers that returns logits alone."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens):
        return self.model(tokens, use_cache=False).logits if self.takes_cache() else self.model(tokens).logits

    def takes_cache(self):
        return self.model.config.model_type == "llama"


def bert():
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=1000, hidden_size=128, num_hidden_layers=4, num_attention_heads=4, intermediate_size=512,
        max_position_embeddings=64, num_labels=10, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )
    return _Logits(BertForSequenceClassification(config)), lambda: torch.randint(0, 1000, (4, 32)), 10


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=1000, hidden_size=128, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=256, max_position_embeddings=64,
    )
    return _Logits(LlamaForCausalLM(config)), lambda: torch.randint(0, 1000, (2, 32)), 1000


MODELS = {"resnet18": resnet18, "vit": vit, "bert": bert, "llama": llama}


def loss_of(model, inputs):
    """The loss of one batch. Targets follow from the inputs: classes, or for llama the next tokens."""
    batch, classes = inputs
    logits = model(batch)
    if logits.dim() == 3:
        return torch.nn.functional.cross_entropy(logits[:, :-1].reshape(-1, classes), batch[:, 1:].reshape(-1))
    targets = torch.arange(logits.shape[0]) % classes
    return torch.nn.functional.cross_entropy(logits, targets)
