"""The broker between devices and the sink: a supervised Mosquitto with a generated configuration."""

from ._mosquitto import Broker, find_mosquitto
from ._settings import BrokerSettings

__all__ = ["Broker", "BrokerSettings", "find_mosquitto"]
