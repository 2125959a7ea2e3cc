"""UpdateFeatures: raising ``metadata.version`` once every broker supports the new level (KIP-584, KIP-778)."""

from __future__ import annotations

from highwater_runtime.controller.decision import Decision, RefusedError
from highwater_runtime.controller.kraft.settings import upgrade_metadata_version
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.metadata.metadata_version import FEATURE_NAME
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.update_features_request import UpdateFeaturesRequest
from highwater_runtime.wire.messages.update_features_response import UpdatableFeatureResult, UpdateFeaturesResponse


def update_features(image: MetadataImage, request: UpdateFeaturesRequest) -> Decision[UpdateFeaturesResponse]:
    """Raise each feature named to its level, or only say whether one could (``validate_only``)."""
    decision = Decision(UpdateFeaturesResponse(error_message=None))
    done: dict[str, None] = {}
    for update in request.feature_updates:
        result = UpdatableFeatureResult(feature=update.feature, error_message=None)
        try:
            if update.feature != FEATURE_NAME:
                raise RefusedError(ErrorCode.INVALID_UPDATE_VERSION, f"unknown feature {update.feature!r}")
            if update.feature in done:
                raise RefusedError(ErrorCode.INVALID_REQUEST, f"feature {update.feature!r} is named more than once")
            done[update.feature] = None
            records = upgrade_metadata_version(image, update.max_version_level)
        except RefusedError as refused:
            result.error_code, result.error_message = int(refused.code), refused.message
        else:
            if not request.validate_only:
                decision.records.extend(records)
        decision.response.results.append(result)
    return decision
